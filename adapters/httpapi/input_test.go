package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

// An attempt is a request that is refused, or taken.
type attempt struct {
	request, body string // with %s in the request, the body goes there
	status        int
	code, text    string // of the answer
}

// attempts returns those of testdata/refusals.txt, and those that are no lines of text.
func attempts(t *testing.T) []attempt {
	t.Helper()
	const message = "POST /message"
	long := strings.Repeat("x", 257)
	all := []attempt{
		{message, "{\"text\":\"\xff\"}", 400, "invalid_json", ""},
		{message, strings.Repeat(`[`, 20000), 400, "invalid_json", ""},
		{message, "\ufeff" + `{"text":"a"}`, 400, "invalid_json", ""},
		{message, `{"text":"a","channel":"` + long + `"}`, 400, "bad_channel", ""},
		{message, `{"text":"a","channel":"` + strings.Repeat("x", 4000) + `"}`, 400, "bad_channel", ""},
		{message, `{"text":"a","context":{"topic":"` + long + `"}}`, 400, "bad_context", ""},
		{message + ` {"content":[%s]}`, "{ \"type\": \"text\",\n \"text\": \"a\\nb\", \"cache_control\": {\"type\": \"ephemeral\"} }", 200, "-", ""},
	}
	file, err := os.ReadFile("testdata/refusals.txt")
	check.OK(t, err)
	request := ""
	for line := range strings.Lines(string(file)) {
		status, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, err := strconv.Atoi(status)
		if err != nil {
			request = strings.TrimSpace(line)
			continue
		}
		a := attempt{request: request, status: n}
		a.code, a.body, _ = strings.Cut(rest, " ")
		if quoted, err := strconv.QuotedPrefix(a.body); err == nil {
			a.text, _ = strconv.Unquote(quoted)
			a.body = strings.TrimPrefix(a.body[len(quoted):], " ")
		}
		all = append(all, a)
	}
	return all
}

// TestRefusals holds the refusals of bodies, and that nothing refused is accepted.
func TestRefusals(t *testing.T) {
	r := startRig(t, func(o *Options) {
		o.Push.Register("tg-", func(context.Context, core.Push) error { return nil })
	})
	asked, accepted := r.asks("Bash", `{"command":"ls"}`), 1
	for _, a := range attempts(t) {
		method, rest, _ := strings.Cut(a.request, " ")
		path, template, templated := strings.Cut(rest, " ")
		body := a.body
		if templated {
			body = strings.Replace(template, "%s", body, 1)
		}
		got := r.send(method, strings.Replace(path, "{asked}", asked, 1), body)
		if got.status != a.status || a.code != "-" && got.field(t, "code") != a.code || !strings.Contains(got.body, a.text) {
			t.Errorf("%s %.80q: got %d %s, want %d %s with %q", a.request, a.body, got.status, got.body, a.status, a.code, a.text)
		}
		if path == "/message" && a.status == http.StatusOK {
			accepted++
		}
	}
	r.want(r.send("POST", "/message", "", "Content-Type", "application/json"), http.StatusBadRequest, "invalid_json")
	if n := len(r.accepted(t)); n != accepted {
		t.Errorf("%d messages were accepted, want %d", n, accepted)
	}
	r.want(r.send("POST", "/message", `{"text":"a"}`), http.StatusOK, "")
}

func TestSubmissionHasWhatWasSent(t *testing.T) {
	r := startRig(t, nil)
	r.want(r.send("POST", "/message", `{"text":"  a\r\n\tb 🦀 <&>","channel":"k","mode":"steer","context":{"user":"U","chat":"C","topic":"T","more":1},"unknown":[{"a":null}]}`,
		"Content-Type", "application/json; charset=utf-8"), http.StatusOK, "")
	r.want(r.send("POST", "/message", `{"text":"a","channel":null,"mode":null,"context":null,"content":null}`), http.StatusOK, "")
	r.want(r.send("POST", "/message", `{"text":"\u001b[31mred\u001b[0m \u0007\b\f\u007f\u009b"}`), http.StatusOK, "")
	r.want(r.send("POST", "/message", `{"text":"t","context":{"user":null},"content":[{ "type":"text",  "text":"x" , "n": 1.50 }]}`), http.StatusOK, "")
	got := r.accepted(t)
	if m := got[0]; m.Content.Text != "  a\r\n\tb 🦀 <&>" || m.Channel != "k" || m.Mode != core.Steer || m.Origin != (core.Origin{User: "U", Chat: "C", Topic: "T"}) || m.Adapter != "http" || m.CanAsk || m.SourceKey != "" {
		t.Errorf("first submission %+v", m)
	}
	if m := got[1]; m.Channel != "http" || m.Mode != core.Collect || m.Content.Blocks != nil {
		t.Errorf("second submission %+v", m)
	}
	if m := got[2]; m.Content.Text != "\x1b[31mred\x1b[0m \a\b\f\x7f\u009b" { // coloured output of a program, say
		t.Errorf("controls are submitted as %q", m.Content.Text)
	}
	if m := got[3]; m.Content.Text != "" || len(m.Content.Blocks) != 1 || string(m.Content.Blocks[0]) != `{"type":"text","text":"x","n":1.50}` {
		t.Errorf("fourth submission %+v: %s", m, m.Content.Blocks)
	}
}

// TestNamesMeanNothing: names in a request are often those of others, and its text is not. A
// request that is repeated has the key of the names as they were sent.
func TestNamesMeanNothing(t *testing.T) {
	r := startRig(t, func(o *Options) { o.Inert = strings.NewReplacer("@", "＠").Replace })
	body := `{"text":"see @x","context":{"user":"U @x","chat":"C @x","topic":"@x"}}`
	for _, c := range []*http.Client{r.client, r.local, r.client} {
		r.want(r.do(c, r.request("POST", "/message", body, "Idempotency-Key", "k")), http.StatusOK, "")
	}
	got := r.accepted(t)
	if len(got) != 1 || got[0].Content.Text != "see @x" || got[0].Origin != (core.Origin{User: "U ＠x", Chat: "C ＠x", Topic: "＠x"}) {
		t.Errorf("submitted: %+v", got)
	}
}

// TestMentionsAreSentOverTCP: the agent's own commands reach the Unix socket, and must not
// have a file attached that the agent would have to ask for.
func TestMentionsAreSentOverTCP(t *testing.T) {
	t.Parallel()
	inert := strings.NewReplacer("@", "＠").Replace
	for _, mentions := range []bool{true, false} {
		r := newRig(t, func(o *Options) { o.Inert, o.FileMentions = inert, mentions })
		for _, op := range [][2]string{
			{"/message", `{"text":"see @/secret"}`},
			{"/message", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"see @/secret"}]}`},
			{"/schedules", `{"channel":"http","text":"see @/secret","when":"in 1h"}`},
		} {
			if a := r.do(r.local, r.request("POST", op[0], op[1])); mentions {
				r.want(a, http.StatusForbidden, "not_on_socket")
			} else if a.status >= http.StatusBadRequest {
				t.Errorf("%s %s without mentions: got %d %s", op[0], op[1], a.status, a.body)
			}
			for name, a := range map[string]answer{
				"over TCP":  r.send("POST", op[0], op[1]),
				"without @": r.do(r.local, r.request("POST", op[0], inert(op[1]))),
			} {
				if a.status >= http.StatusBadRequest {
					t.Errorf("%s %s %s: got %d %s", op[0], op[1], name, a.status, a.body)
				}
			}
		}
	}
}

// TestChannelNames holds that every allowed name is a channel of its own, and
// reachable as a path.
func TestChannelNames(t *testing.T) {
	r := startRig(t, nil)
	equal := strings.Repeat("x", 200)
	names := []string{
		"tg-123", "../../etc/x", "...", "../", "/abs/olute", "a b", `"quoted"`, "it's", "a%2Fb", "a/b", "50%", "?q=1#f", "events", "a/events",
		"ünïcødé", "🦀", "❤\ufe0f", "1\ufe0f\u20e3", "日本語", "สวัสดี", "e\u0301", "\u00e9", "\\", "a+b", ";", equal + "1", equal + "2", strings.Repeat("y", 256), "%", "%zz",
	}
	for _, name := range names {
		a := r.send("POST", "/message", `{"text":"x","channel":`+quoted(t, name)+`}`)
		r.want(a, http.StatusOK, "")
		path := "/channels/" + strings.ReplaceAll(url.PathEscape(name), ".", "%2E") // else clients resolve dots
		if got := r.send("GET", path, ""); got.status != http.StatusOK || got.field(t, "channel") != name || got.field(t, "messages") != 1.0 {
			t.Errorf("%q: got %d %s", name, got.status, got.body)
		}
		if got := r.send("GET", path+"/messages?limit=5", ""); got.status != http.StatusOK || got.field(t, "channel") != name {
			t.Errorf("%q: got %d %s", name, got.status, got.body)
		}
	}
	for _, path := range []string{"/channels/%20a", "/channels/a%0Ab", "/channels/%FF", "/channels/" + strings.Repeat("x", 257)} {
		r.want(r.send("GET", path, ""), http.StatusBadRequest, "bad_channel")
		r.want(r.send("GET", path+"/events", ""), http.StatusBadRequest, "bad_channel")
	}
}

// TestNamesThatCannotBeSeen holds that nobody makes a channel whose name shows
// nothing, shows as another one, or that paths cannot name, and that the reason is told.
func TestNamesThatCannotBeSeen(t *testing.T) {
	r := startRig(t, func(o *Options) {
		o.Push.Register("tg-", func(context.Context, core.Push) error { return nil })
	})
	for name, reason := range map[string]string{
		".": "path", "..": "path",
		"\u200b": "U+200B", "a\u200b": "U+200B", "tg-\u200b": "U+200B", "\ufeffa": "U+FEFF", "a\u2060b": "U+2060", "a\u00adb": "U+00AD",
		"\u202eevil": "U+202E", "a\u2066b": "U+2066", "a\u200fb": "U+200F", "\u061ca": "U+061C",
		"a\u200db": "U+200D", "a\u200cb": "U+200C", "a\U000e0041": "U+E0041",
		"\u115f": "U+115F", "\u3164": "U+3164", "a\u3164": "U+3164", "\uffa0": "U+FFA0", "\u2800": "U+2800", "a\u034fb": "U+034F", "a\u17b4b": "U+17B4",
		"a\u00a0b": "U+00A0", "a\u2003b": "U+2003", "a\u3000b": "U+3000", "a\u2028b": "U+2028",
		"\ufe0f": "U+FE0F", "a\ufe0f": "U+FE0F", "a\ufe00": "U+FE00", "🦀\ufe01": "U+FE01", "\u0301": "U+0301", "\ue000": "U+E000", "\U0010ffff": "U+10FFFF",
	} {
		text := quoted(t, name)
		path := "/channels/" + strings.ReplaceAll(url.PathEscape(name), ".", "%2E")
		for what, a := range map[string]answer{
			"message":  r.send("POST", "/message", `{"text":"x","channel":`+text+`}`),
			"stream":   r.send("POST", "/message", `{"text":"x","channel":`+text+`}`, "Accept", "text/event-stream"),
			"push":     r.send("POST", "/send", `{"text":"x","channel":`+text+`}`),
			"schedule": r.send("POST", "/schedules", `{"text":"x","when":"in 1h","channel":`+text+`}`),
			"upgrade":  r.send("POST", "/upgrade", `{"rollback":true,"channel":`+text+`}`),
			"settings": r.send("PATCH", path, `{"model":"haiku"}`),
			"show":     r.send("GET", path, ""),
		} {
			if a.status != http.StatusBadRequest || a.field(t, "code") != "bad_channel" || !strings.Contains(a.body, reason) {
				t.Errorf("%+q: %s: got %d %s, want bad_channel with %s", name, what, a.status, a.body, reason)
			}
		}
	}
	for _, name := range []string{"%2E%2E", "a%E2%80%8B"} { // a GET that is not refused does not end
		if a := r.send("HEAD", "/channels/"+name+"/events", ""); a.status != http.StatusBadRequest {
			t.Errorf("%s: watch: got %d", name, a.status)
		}
	}
	if n := len(r.accepted(t)); n != 0 {
		t.Errorf("%d messages were accepted", n)
	}
}

// TestOldNamesStayOfUse has channels that an earlier program let people make.
func TestOldNamesStayOfUse(t *testing.T) {
	r := startRig(t, nil)
	for _, name := range []string{"..", "a\u200b"} {
		r.submit(t, core.ChannelKey(name), "x")
		path := "/channels/" + strings.ReplaceAll(url.PathEscape(name), ".", "%2E")
		r.want(r.send("POST", "/message", `{"text":"x","channel":`+quoted(t, name)+`}`), http.StatusOK, "")
		r.want(r.send("POST", "/schedules", `{"text":"x","when":"in 1h","channel":`+quoted(t, name)+`}`), http.StatusCreated, "")
		r.want(r.send("PATCH", path, `{"model":"haiku"}`), http.StatusOK, "")
		for _, below := range []string{"", "/messages", "/rules"} {
			r.want(r.send("GET", path+below, ""), http.StatusOK, "")
		}
		r.want(r.send("DELETE", path, ""), http.StatusOK, "")
	}
}

func TestContentTypes(t *testing.T) {
	r := startRig(t, nil)
	for _, ct := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx", ";", "text/plain; application/json"} {
		r.want(r.send("POST", "/message", `{"text":"a"}`, "Content-Type", ct), http.StatusUnsupportedMediaType, "unsupported_media_type")
	}
	r.want(r.send("POST", "/message", `{"text":"a"}`, "Content-Encoding", "gzip"), http.StatusUnsupportedMediaType, "unsupported_media_type")
	for _, ct := range []string{"application/json", "Application/JSON", "application/json;charset=utf-8", `application/json; x="y"`} {
		r.want(r.send("POST", "/message", `{"text":"a"}`, "Content-Type", ct), http.StatusOK, "")
	}
	r.want(r.send("POST", "/restart", "a=b", "Content-Type", "application/x-www-form-urlencoded"), http.StatusUnsupportedMediaType, "")
	r.want(r.send("POST", "/restart", ""), http.StatusOK, "")
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	const limit = 64 << 10
	r := newRig(t, func(o *Options) { o.BodyLimit = limit })
	body := func(n int) string { return `{"text":"` + strings.Repeat("x", n-len(`{"text":""}`)) + `"}` }
	r.want(r.send("POST", "/message", body(limit)), http.StatusOK, "")
	a := r.send("POST", "/message", body(limit+1))
	r.want(a, http.StatusRequestEntityTooLarge, "body_too_large")
	if !strings.Contains(a.body, "64 KiB") {
		t.Errorf("the limit is not named: %s", a.body)
	}
	chunked := r.request("POST", "/message", body(limit+1))
	chunked.ContentLength = -1
	r.want(r.do(r.client, chunked), http.StatusRequestEntityTooLarge, "body_too_large")
	chunked = r.request("POST", "/message", body(limit))
	chunked.ContentLength = -1
	r.want(r.do(r.client, chunked), http.StatusOK, "")
}

// TestLargeMessages sends and gets back more than connections and scanners take at once, as text
// and as an image.
func TestLargeMessages(t *testing.T) {
	r := startRig(t, func(o *Options) { o.BodyLimit = 0 })
	transport := &http.Transport{} // without the recorder, which takes its time
	defer transport.CloseIdleConnections()
	r.client = &http.Client{Transport: transport}
	text := strings.Repeat("0123456789abcde\n", 1<<14)
	a := r.send("POST", "/message", `{"text":`+quoted(t, text)+`}`)
	if a.status != http.StatusOK || a.field(t, "text") != text {
		t.Errorf("text: got %d with %d bytes", a.status, len(a.body))
	}
	image := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + strings.Repeat("aGVsbG8h", 1<<15) + `"}}`
	a = r.send("POST", "/message", `{"content":[`+image+`]}`)
	if a.status != http.StatusOK || a.field(t, "text") != image {
		t.Errorf("image: got %d with %d bytes", a.status, len(a.body))
	}
}

func TestIdempotency(t *testing.T) {
	r := startRig(t, nil)
	first := r.send("POST", "/message", `{"text":"a","content":[{"type":"text","text":"b","n":1}]}`, "Idempotency-Key", "k 1")
	r.want(first, http.StatusOK, "")
	again := r.send("POST", "/message", `{ "content":[{"n":1.0,"text":"\u0062","type":"text"}], "mode":"collect","channel":"http" }`, "Idempotency-Key", "k 1")
	r.want(again, http.StatusOK, "")
	if again.body != first.body || again.header.Get("Idempotency-Replayed") != "true" || first.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("the same message: got %s %v\nfirst %s %v", again.body, again.header, first.body, first.header)
	}
	for _, other := range []string{
		`{"text":"b"}`,
		`{"content":[{"type":"text","text":"b","n":2}]}`,
		`{"content":[{"type":"text","text":"b","n":1}],"mode":"steer"}`,
		`{"content":[{"type":"text","text":"b","n":1}],"context":{"user":"u"}}`,
	} {
		r.want(r.send("POST", "/message", other, "Idempotency-Key", "k 1"), http.StatusUnprocessableEntity, "idempotency_mismatch")
	}
	if got := r.accepted(t); len(got) != 1 || got[0].SourceKey != "http:http\nk 1" || len(got[0].SourceHash) != 64 {
		t.Errorf("submitted: %+v", got)
	}
	for _, key := range []string{strings.Repeat("k", 256), "käse", "\t"} {
		req := r.request("POST", "/message", `{"text":"a"}`)
		req.Header["Idempotency-Key"] = []string{key}
		r.want(r.do(r.client, req), http.StatusBadRequest, "bad_idempotency_key")
	}
	twice := r.request("POST", "/message", `{"text":"a"}`)
	twice.Header["Idempotency-Key"] = []string{"a", "b"}
	r.want(r.do(r.client, twice), http.StatusBadRequest, "bad_idempotency_key")
}
