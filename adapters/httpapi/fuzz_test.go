package httpapi

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

func quietServer(t testing.TB, f *fake) *Server {
	return newServer(Options{Log: slog.New(slog.DiscardHandler), Health: func() Health { return Health{} }}, f)
}

// FuzzMessageBody holds that a body is either accepted as a submission that the
// fake takes for valid, or refused with a 4xx in JSON.
func FuzzMessageBody(f *testing.F) {
	for _, seed := range []string{
		`{"text":"a"}`, `{"text":"a\u0000"}`, `{"text":"\ud83d\ude00","channel":"k","mode":"steer","context":{"user":"u"}}`,
		`{"content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}`,
		"{\n\"content\" : [ {\"type\":\"document\",\r\n\"source\":{\"type\":\"text\",\"media_type\":\"text/plain\",\"data\":\"a\"}} ] }",
		`{"text":null,"x":[[]],"text":1}`, `[`, ``, `{"text":"` + "\xff" + `"}`,
	} {
		f.Add([]byte(seed))
	}
	fake := newFake(f).echo()
	h := quietServer(f, fake).Handler()
	f.Fuzz(func(t *testing.T, body []byte) {
		fake.reset(t)
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "http://localhost/message", strings.NewReader(string(body)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "k")
		h.ServeHTTP(w, r)
		submitted := len(fake.submissions())
		switch {
		case w.Code == http.StatusOK && submitted == 1, w.Code >= 400 && w.Code < 500 && submitted == 0:
		default:
			t.Errorf("%q: got %d with %d submissions: %s", body, w.Code, submitted, w.Body)
		}
		if doc := jsontext.Value(w.Body.Bytes()); !doc.IsValid() || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%q: the answer is %s", body, doc)
		}
	})
}

// FuzzChannel holds that a name is either refused everywhere or a channel of its
// own, under the same name in a body and in a path.
func FuzzChannel(f *testing.F) {
	for _, seed := range []string{"http", "tg-1", "../../etc/x", "a/b", "a%2Fb", " a", "a\n", "\u00a0", "\xff", "🦀", ".", "..", "a\u200b", "\u202ea", strings.Repeat("x", 257), ""} {
		f.Add(seed)
	}
	h := quietServer(f, newFake(f)).Handler()
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
