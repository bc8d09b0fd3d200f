package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
)

// runInstant answers every user message "ok" on the shortest way that is still
// the protocol: lifecycle queued and started, assistant, result, lifecycle
// completed, all in one write. There are no directives, no merging, no
// transcript and no journal. It allocates nothing per message.
func runInstant(f flags, stdin io.Reader, stdout io.Writer) int {
	session := f.sessionID + f.resume
	if session == "" {
		session = newID()
	}
	i := &instant{answer: newAnswer(session), stdout: stdout}
	if eachChunk(stdin, i.take) != nil || i.line(i.begun) != nil {
		return exitBroken
	}
	return 0
}

// instant answers lines that arrive in chunks.
type instant struct {
	answer *answer
	stdout io.Writer
	begun  []byte // a line whose end has not arrived
}

// take answers the lines that the chunk completes.
func (i *instant) take(chunk []byte) error {
	for {
		n := bytes.IndexByte(chunk, '\n') + 1
		if n == 0 {
			i.begun = append(i.begun, chunk...)
			return nil
		}
		line := chunk[:n]
		if len(i.begun) > 0 {
			line = append(i.begun, line...)
			i.begun = line[:0]
		}
		if err := i.line(line); err != nil {
			return err
		}
		chunk = chunk[n:]
	}
}

func (i *instant) line(line []byte) error {
	if out := i.answer.to(line); out != nil {
		return write(i.stdout, out)
	}
	return nil
}

// readChunks gives take what r has, until that ends or take fails.
func readChunks(r io.Reader, take func(chunk []byte) error) error {
	buf := make([]byte, chunkBytes)
	for end := error(nil); end == nil; { // a broken stdin is no different from its end
		var n int
		n, end = r.Read(buf)
		if err := take(buf[:n]); err != nil {
			return err
		}
	}
	return nil
}

const chunkBytes = 1 << 16 // what a pipe holds

// answer holds the constant parts of an answer, between the places where the
// message's uuid goes, and the buffer it is built in.
type answer struct {
	parts   [][]byte
	out     []byte
	session string
}

func newAnswer(session string) *answer {
	const mark = "\x00"
	id := newID()
	whole := `{"type":"command_lifecycle","command_uuid":"` + mark + `","state":"queued","uuid":"` + id + `","session_id":"` + session + `"}` + "\n" +
		`{"type":"command_lifecycle","command_uuid":"` + mark + `","state":"started","uuid":"` + id + `","session_id":"` + session + `"}` + "\n" +
		`{"type":"assistant","message":{"content":[{"text":"ok","type":"text"}],"id":"msg_fake","model":"fake","role":"assistant","stop_reason":null,"type":"message"},"parent_tool_use_id":null,"session_id":"` + session + `","uuid":"` + id + `"}` + "\n" +
		`{"duration_api_ms":0,"stop_reason":"end_turn","session_id":"` + session + `","total_cost_usd":0,"permission_denials":[],"terminal_reason":"completed","is_error":false,"num_turns":1,"subtype":"success","result":"ok","type":"result","duration_ms":0,"uuid":"` + id + `","user_message_uuid":"` + mark + `","user_message_uuids":["` + mark + `"],"queued_turn_count":0,"result_index":0}` + "\n" +
		`{"type":"command_lifecycle","command_uuid":"` + mark + `","state":"completed","uuid":"` + id + `","session_id":"` + session + `"}` + "\n"
	return &answer{parts: bytes.Split([]byte(whole), []byte(mark)), session: session}
}

// to returns what answers one line of stdin, or nil. It is valid until the
// next call.
func (a *answer) to(line []byte) []byte {
	// Within a JSON string a quote is escaped, so these cannot be part of a text.
	if bytes.Contains(line, []byte(`"type":"control_request"`)) {
		return a.toControl(line)
	}
	if !bytes.Contains(line, []byte(`"type":"user"`)) {
		return nil
	}
	key := []byte(`"uuid":"`)
	i := bytes.Index(line, key)
	if i < 0 {
		return nil
	}
	uuid := line[i+len(key):]
	end := bytes.IndexByte(uuid, '"')
	if end < 0 {
		return nil
	}
	a.out = a.out[:0]
	for i, part := range a.parts {
		if i > 0 {
			a.out = append(a.out, uuid[:end]...)
		}
		a.out = append(a.out, part...)
	}
	return a.out
}

func (a *answer) toControl(line []byte) []byte {
	var e struct {
		RequestID string `json:"request_id"`
	}
	if json.Unmarshal(line, &e) != nil {
		return nil
	}
	return encode(controlResponse{"control_response", responseBody{Subtype: "success", RequestID: e.RequestID,
		Response: object{"pid": os.Getpid(), "still_queued": []string{}, "claude_code_version": version}}})
}
