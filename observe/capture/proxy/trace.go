package proxy

import (
	"encoding/hex"
	"net/http"

	"bareclaw/observe/capture"
)

// traceparentLength is that of "00-<trace>-<span>-<flags>".
const traceparentLength = 2 + 1 + 32 + 1 + 16 + 1 + 2

// parseTraceparent returns the trace that the client has begun, as W3C Trace Context says.
func parseTraceparent(header http.Header) (id capture.TraceID, ok bool) {
	values := header[traceparentHeader]
	if len(values) != 1 || len(values[0]) < traceparentLength {
		return id, false
	}
	value := values[0]
	version := value[:2]
	isLonger := len(value) > traceparentLength
	if version == "ff" || version == "00" && isLonger || isLonger && value[traceparentLength] != '-' {
		return id, false
	}
	if value[2] != '-' || value[35] != '-' || value[52] != '-' {
		return id, false
	}
	var parent capture.SpanID
	if !decode(id[:], value[3:35]) || !decode(parent[:], value[36:52]) {
		return capture.TraceID{}, false
	}
	if id == (capture.TraceID{}) || parent == (capture.SpanID{}) {
		return capture.TraceID{}, false
	}
	return id, true
}

// decode reads lowercase hex.
func decode(out []byte, digits string) bool {
	for i := range len(digits) {
		if c := digits[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	_, err := hex.Decode(out, []byte(digits))
	return err == nil
}

// formatTraceparent names the proxy's step as the one above. The app records its steps: the flag says so.
func formatTraceparent(trace capture.TraceID, span capture.SpanID) string {
	return "00-" + trace.String() + "-" + span.String() + "-01"
}
