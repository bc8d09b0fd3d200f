package httpapi

import (
	"bareclaw/core"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzMessageBody holds that a body is either a submission that an adapter may make, or
// refused with a 4xx in JSON.
func FuzzMessageBody(f *testing.F) {
	for _, seed := range []string{
		`{"text":"a"}`, `{"text":"a\u0000"}`, `{"text":"\ud83d\ude00","channel":"k","mode":"steer","context":{"user":"u"}}`,
		`{"content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}`,
		"{\n\"content\" : [ {\"type\":\"document\",\r\n\"source\":{\"type\":\"text\",\"media_type\":\"text/plain\",\"data\":\"a\"}} ] }",
		`{"text":null,"x":[[]],"text":1}`, `[`, ``, `{"text":"` + "\xff" + `"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		w := httptest.NewRecorder()
		res := &response{ResponseWriter: w, log: slog.New(slog.DiscardHandler), bodyLimit: 64 << 10, body: heldBody{budget: &bodyBudget{limit: maxBodies}}}
		r := httptest.NewRequest(http.MethodPost, "http://localhost/message", strings.NewReader(string(body)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "k")
		sub, err := readSubmission(res, r)
		if err == nil {
			if err := checkSubmission(sub); err != nil {
				t.Errorf("%q became %+v: %v", body, sub, err)
			}
			return
		}
		fail(res, r, err)
		if w.Code < 400 || w.Code >= 500 {
			t.Errorf("%q: got %d: %s", body, w.Code, w.Body)
		}
		if doc := jsontext.Value(w.Body.Bytes()); !doc.IsValid() || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%q: the answer is %s", body, doc)
		}
	})
}

// checkSubmission reports what no adapter may submit.
func checkSubmission(s core.Submission) error {
	_, keyErr := parseKey(string(s.Channel))
	switch {
	case keyErr != nil:
		return fmt.Errorf("channel %q: %w", s.Channel, keyErr)
	case s.Adapter != "http":
		return fmt.Errorf("adapter %q", s.Adapter)
	case s.Content.Blocks == nil && strings.TrimSpace(s.Content.Text) == "":
		return errors.New("no content")
	case s.Content.Blocks != nil && s.Content.Text != "":
		return errors.New("text and blocks")
	case strings.Contains(s.Content.Text, "\x00"):
		return errors.New("a NUL")
	case s.Mode != core.Collect && s.Mode != core.Steer && s.Mode != core.Interrupt:
		return fmt.Errorf("mode %q", s.Mode)
	case max(len(s.Origin.User), len(s.Origin.Chat), len(s.Origin.Topic)) > maxOriginBytes:
		return errors.New("origin is too long")
	}
	for _, b := range s.Content.Blocks {
		if !json.Valid(b) || b[0] != '{' || strings.ContainsAny(string(b), "\n\r") {
			return fmt.Errorf("block %q", b)
		}
	}
	return core.CheckContent(s.Content)
}

// FuzzChannel holds that a name is either refused everywhere or a channel of its
// own, under the same name in a body and in a path.
func FuzzChannel(f *testing.F) {
	for _, seed := range []string{"http", "tg-1", "../../etc/x", "a/b", "a%2Fb", " a", "a\n", "\u00a0", "\xff", "🦀", ".", "..", "a\u200b", "\u202ea", strings.Repeat("x", 257), ""} {
		f.Add(seed)
	}
	h := New(newGateway(f, nil).options(io.Discard)).http.Handler
	f.Fuzz(func(t *testing.T, name string) {
		key, err := channelKey(name)
		if err == nil && (string(key) != name || !utf8.ValidString(name) || len(name) > 256) {
			t.Errorf("%q became %q", name, key)
		}
		if name == "" {
			return // not a path of a channel
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "http://localhost/channels/"+url.PathEscape(name), nil)
		h.ServeHTTP(w, r)
		want := http.StatusNotFound
		if err != nil {
			want = http.StatusBadRequest
		}
		if w.Code != want {
			t.Errorf("%q: got %d %s, want %d", name, w.Code, w.Body, want)
		}
	})
}
