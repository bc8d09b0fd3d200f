package botapi

import (
	"fmt"
	"net"
	"net/http"
)

// ResetBefore resets the connection when the call has been read; it is not
// carried out.
func ResetBefore() Step {
	return Step{outcome: "fault: reset before", before: func(x *exchange, step Step) bool {
		x.reset(step.outcome, nil)
		return true
	}}
}

// ResetAfter carries the call out and resets the connection without an answer:
// the client cannot know.
func ResetAfter() Step {
	return Step{outcome: "fault: reset after", answer: func(x *exchange, step Step, _ []byte) bool {
		x.reset(step.outcome, nil)
		return true
	}}
}

// ResetMidBody carries the call out and resets the connection in the middle of
// the answer.
func ResetMidBody() Step {
	return Step{outcome: "fault: reset in the body", answer: func(x *exchange, step Step, response []byte) bool {
		head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(response))
		x.reset(step.outcome, append([]byte(head), response[:len(response)/2]...))
		return true
	}}
}

// reset writes what there is to say and drops the connection.
func (x *exchange) reset(outcome string, last []byte) {
	x.end(outcome, 0)
	hijacker, ok := x.w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = conn.Write(last) // the client may be gone
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a reset instead of an end
	}
	_ = conn.Close()
}
