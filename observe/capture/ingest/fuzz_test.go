package ingest

import (
	"net/http"
	"testing"
	"unicode/utf8"

	"bareclaw/observe/capture"
)

// checked is a sink that fails a test for what cannot be.
type checked struct{ t *testing.T }

func (c checked) Signal(s capture.Signal) {
	if s.At.IsZero() {
		c.t.Error("a signal has no time")
	}
	texts := []string{s.Request}
	if s.Query != nil {
		texts = append(texts, s.Query.Text, s.Query.System, s.Query.Table)
		if s.Query.Text == "" || s.Query.Took < 0 {
			c.t.Errorf("a query of %q that took %v", s.Query.Text, s.Query.Took)
		}
	}
	if s.Fetch != nil {
		texts = append(texts, s.Fetch.URL, s.Fetch.Method)
	}
	if s.Log != nil {
		texts = append(texts, s.Log.Text)
	}
	if s.Fault != nil {
		texts = append(texts, s.Fault.Name, s.Fault.Message, s.Fault.Stack)
	}
	for _, text := range texts {
		if len(text) > capture.MaxSignalText || !utf8.ValidString(text) {
			c.t.Errorf("a text of %d bytes: %.100q", len(text), text)
		}
	}
}

func (c checked) End(raw capture.Raw) {
	r := raw.Request
	if r.ID == "" || r.Method == "" || r.Took < 0 || r.Status < 0 || r.Received.Size < 0 || r.Started.IsZero() {
		c.t.Errorf("a request is %+v", r)
	}
	if len(raw.Sent.Bytes) > capture.MaxBody || len(raw.Received.Bytes) > capture.MaxBody {
		c.t.Errorf("bodies of %d and %d bytes", len(raw.Sent.Bytes), len(raw.Received.Bytes))
	}
}

func FuzzIngest(f *testing.F) {
	f.Add(`{"_brakit": true, "version": 1, "events": [` + requestEvent() + `]}`)
	f.Add(`{"_brakit": true, "events": [{"type": "query", "data": {"driver": "pg", "sql": "SELECT 1", "parentRequestId": "r"}}]}`)
	f.Add(`{"_brakit": true, "version": 1, "events": [{"type": "fetch", "timestamp": 1e300, "data": {"url": "\ud800", "duration": 1e12}}]}`)
	f.Add(`{"_brakit": true, "version": 1, "events": [{"type": "log", "requestId": null, "data": {"level": 7}}, {"type": "error"}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		status, answer := post(checked{t}, body)
		if status != http.StatusNoContent && (status != http.StatusBadRequest || answer == "") {
			t.Errorf("answered %d %q", status, answer)
		}
	})
}
