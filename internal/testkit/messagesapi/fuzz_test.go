package messagesapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bareclaw/internal/testkit/messagesapi"
)

// FuzzMessages: whatever the body, the answer is JSON or a stream, or the
// scripted break of the connection.
func FuzzMessages(f *testing.F) {
	for _, said := range []string{"echo x", "seq [{}]", "par:bash 2 x", "usage 1 2", "gate g é", "error 529 x1", "<system-reminder>"} {
		body, err := json.Marshal(conversation(user(said)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(body))
	}
	f.Add(`{"model":"m","max_tokens":1,"stream":true,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // a panic value, never wrapped
				panic(p)
			}
		}()
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // nothing waits
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/messages", strings.NewReader(body))
		r.Header.Set("X-Api-Key", "dummy")
		r.Header.Set("Anthropic-Version", "2023-06-01")
		w := httptest.NewRecorder()
		messagesapi.New(messagesapi.Options{}).ServeHTTP(w, r)
		if stream := strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream"); !stream && !json.Valid(w.Body.Bytes()) {
			t.Errorf("status %d, body %q", w.Code, w.Body)
		}
	})
}
