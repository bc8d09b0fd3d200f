package http

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/roottest"
)

// badMessages are bodies of POST /message that must be refused.
var badMessages = []struct{ what, body, code string }{
	{"nothing", ``, "invalid_json"},
	{"spaces", "  \n ", "invalid_json"},
	{"words", `hello`, "invalid_json"},
	{"half an object", `{"text": "hel`, "invalid_json"},
	{"an unclosed object", `{"text": "hello"`, "invalid_json"},
	{"a trailing comma", `{"text": "hello",}`, "invalid_json"},
	{"single quotes", `{'text': 'hello'}`, "invalid_json"},
	{"two objects", `{"text": "hello"} {"text": "again"}`, "invalid_json"},
	{"a text after the object", `{"text": "hello"} x`, "invalid_json"},
	{"a name twice", `{"text": "one", "text": "two"}`, "invalid_json"},
	{"text that is not UTF-8", "{\"text\": \"\xff\xfe\"}", "invalid_json"},
	{"a lone surrogate", `{"text": "\ud800"}`, "invalid_json"},
	{"the other lone surrogate", `{"text": "a\udc00b"}`, "invalid_json"},
	{"a lone surrogate as a channel", `{"text": "hello", "channel": "\ud83d"}`, "invalid_json"},
	{"NUL itself", "{\"text\": \"a\x00b\"}", "invalid_json"},
	{"depth", strings.Repeat("[", 100_000), "invalid_json"},
	{"null", `null`, "invalid_body"},
	{"an array", `[{"text": "hello"}]`, "invalid_body"},
	{"an empty array", `[]`, "invalid_body"},
	{"a string", `"hello"`, "invalid_body"},
	{"a number", `42`, "invalid_body"},
	{"true", `true`, "invalid_body"},
	{"no text", `{}`, "missing_text"},
	{"another spelling", `{"Text": "hello"}`, "missing_text"},
	{"a null text", `{"text": null}`, "missing_text"},
	{"an empty text", `{"text": ""}`, "missing_text"},
	{"a blank text", `{"text": " \n\t "}`, "missing_text"},
	{"a blank text in other spaces", `{"text": "\u00a0\u2003\u2028"}`, "missing_text"},
	{"a number as text", `{"text": 1}`, "bad_text"},
	{"an array as text", `{"text": ["hello"]}`, "bad_text"},
	{"an object as text", `{"text": {}}`, "bad_text"},
	{"true as text", `{"text": true}`, "bad_text"},
	{"NUL in the text", `{"text": "a\u0000b"}`, "bad_text"},
	{"a number as a channel", `{"text": "hello", "channel": 1}`, "bad_channel"},
	{"an object as a channel", `{"text": "hello", "channel": {"a": 1}}`, "bad_channel"},
	{"an empty channel", `{"text": "hello", "channel": ""}`, "bad_channel"},
	{"a number as a mode", `{"text": "hello", "mode": 1}`, "bad_mode"},
	{"an unknown mode", `{"text": "hello", "mode": "shout"}`, "bad_mode"},
	{"an empty mode", `{"text": "hello", "mode": ""}`, "bad_mode"},
	{"a word as can_ask", `{"text": "hello", "can_ask": "yes"}`, "bad_can_ask"},
	{"a string as context", `{"text": "hello", "context": "Ann"}`, "bad_context"},
	{"an array as context", `{"text": "hello", "context": []}`, "bad_context"},
	{"a number as user", `{"text": "hello", "context": {"user": 7}}`, "bad_context"},
	{"an object as topic", `{"text": "hello", "context": {"topic": {}}}`, "bad_context"},
	{"a long chat", `{"text": "hello", "context": {"chat": "` + strings.Repeat("c", 257) + `"}}`, "bad_context"},
	{"a string as content", `{"content": "hello"}`, "bad_content"},
	{"an object as content", `{"content": {"type": "text", "text": "hello"}}`, "bad_content"},
	{"no blocks", `{"content": []}`, "bad_content"},
	{"no blocks beside a text", `{"text": "hello", "content": []}`, "bad_content"},
	{"a string as block", `{"content": ["hello"]}`, "bad_content"},
	{"a null block", `{"content": [null]}`, "bad_content"},
	{"an empty block", `{"content": [{}]}`, "bad_content"},
	{"a block of an unknown type", `{"content": [{"type": "tool_result", "tool_use_id": "t"}]}`, "bad_content"},
	{"a number as type", `{"content": [{"type": 1}]}`, "bad_content"},
	{"a text block without text", `{"content": [{"type": "text"}]}`, "bad_content"},
	{"a blank text block", `{"content": [{"type": "text", "text": " "}]}`, "bad_content"},
	{"NUL in a text block", `{"content": [{"type": "text", "text": "a\u0000"}]}`, "bad_content"},
	{"an image without source", `{"content": [{"type": "image"}]}`, "bad_content"},
	{"an image of a string", `{"content": [{"type": "image", "source": "x"}]}`, "bad_content"},
	{"an image of no format", `{"content": [{"type": "image", "source": {"type": "base64", "media_type": "image/bmp", "data": "AAAA"}}]}`, "bad_content"},
	{"an image that is not base64", `{"content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "%%%"}}]}`, "bad_content"},
	{"an image in a file", `{"content": [{"type": "image", "source": {"type": "url", "url": "file:///etc/passwd"}}]}`, "bad_content"},
	{"a good block and a bad one", `{"content": [{"type": "text", "text": "hello"}, {"type": "text", "text": ""}]}`, "bad_content"},
}

func TestBadMessagesAreRefusedAndLeaveNothing(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	for _, row := range badMessages {
		g.Must("POST", "/message", row.body).Refused(t, row.what, http.StatusBadRequest, row.code)
	}
	// What looks odd but is good goes through unchanged.
	for _, text := range []string{"prompt\nWörter 频道 🐻 \u202e\u2028 <b>&amp;</b> \\ \" '", "prompt\n\r\n\ttabs", "prompt\n" + strings.Repeat("word ", 20_000)} {
		g.Say("http", text).Want(t, "[channel: http, adapter: http]\n"+text)
	}
	g.Must("POST", "/message", `{"text": "echo ex\u0074ra", "unknown": {"a": [1, null]}, "content": null, "channel": null, "mode": null, "context": null}`, 200).Want(t, "extra")
	g.Must("POST", "/message", `{"text": "echo pair \ud83d\udc3b"}`, 200).Want(t, "pair 🐻")
	if n := g.Balanced(); n != 5 {
		t.Errorf("%d messages accepted, want 5", n)
	}
	if n := len(g.Must("GET", "/channels", nil, 200).Array("channels")); n != 1 {
		t.Errorf("%d channels, want 1", n)
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	t.Parallel()
	g := harness.NewMachine(t).Start()
	const good = `{"text": "hello"}`
	long := strings.Repeat("k", 256)
	for _, row := range []struct {
		what, method, path, body string
		header                   []string
		status                   int
		code                     string
	}{
		{"no content type", "POST", "/message", good, []string{"Content-Type", ""}, 415, "unsupported_media_type"},
		{"a form", "POST", "/message", "text=hello", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"},
		{"plain text", "POST", "/message", good, []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type"},
		{"a content type of nonsense", "POST", "/message", good, []string{"Content-Type", "application/json;;="}, 415, "unsupported_media_type"},
		{"gzip", "POST", "/message", good, []string{"Content-Encoding", "gzip"}, 415, "unsupported_media_type"},
		{"an empty key", "POST", "/message", good, []string{"Idempotency-Key", ""}, 400, "bad_idempotency_key"},
		{"a long key", "POST", "/message", good, []string{"Idempotency-Key", long}, 400, "bad_idempotency_key"},
		{"a key that is not ASCII", "POST", "/message", good, []string{"Idempotency-Key", "schlüssel"}, 400, "bad_idempotency_key"},
		{"an unknown route", "GET", "/nothing", "", nil, 404, "not_found"},
		{"the root", "GET", "/", "", nil, 404, "not_found"},
		{"a route with a slash", "POST", "/message/", good, nil, 404, "not_found"},
		{"a route in capitals", "POST", "/MESSAGE", good, nil, 404, "not_found"},
		{"dots", "GET", "/channels/../health/..%2f", "", nil, 404, "not_found"},
		{"a file", "GET", "/..%2f..%2fetc%2fpasswd", "", nil, 404, "not_found"},
		{"GET of what is posted", "GET", "/message", "", nil, 405, "method_not_allowed"},
		{"PUT", "PUT", "/message", good, nil, 405, "method_not_allowed"},
		{"PUT", "PUT", "/channels/http", good, nil, 405, "method_not_allowed"},
		{"OPTIONS", "OPTIONS", "/message", "", nil, 405, "method_not_allowed"},
		{"TRACE", "TRACE", "/message", "", nil, 405, "method_not_allowed"},
		{"a method of one's own", "BREW", "/message", "", nil, 405, "method_not_allowed"},
		{"DELETE of all", "DELETE", "/channels", "", nil, 405, "method_not_allowed"},
		{"an unknown message", "GET", "/messages/0199", "", nil, 404, "not_found"},
		{"a message with a quote", "GET", "/messages/'%20or%201=1--", "", nil, 404, "not_found"},
		{"a message with NUL", "GET", "/messages/%00", "", nil, 404, "not_found"},
		{"a wait that is none", "GET", "/messages/0199?wait=soon", "", nil, 400, "bad_wait"},
		{"a wait into the past", "GET", "/messages/0199?wait=-1s", "", nil, 400, "bad_wait"},
		{"an unknown channel", "GET", "/channels/nobody", "", nil, 404, "not_found"},
		{"a long channel", "GET", "/channels/" + strings.Repeat("x", 4000), "", nil, 400, "bad_channel"},
		{"a channel with a newline", "GET", "/channels/a%0ab", "", nil, 400, "bad_channel"},
		{"a channel that is not UTF-8", "DELETE", "/channels/%ff%fe", "", nil, 400, "bad_channel"},
		{"a limit that is none", "GET", "/channels/nobody/messages?limit=all", "", nil, 400, "bad_limit"},
		{"no limit", "GET", "/channels/nobody/messages?limit=0", "", nil, 400, "bad_limit"},
		{"an array to interrupt", "POST", "/channels/nobody/interrupt", "[]", nil, 400, "invalid_body"},
		{"a number as turn", "POST", "/channels/nobody/interrupt", `{"turn_id": 1}`, nil, 400, "invalid_body"},
		{"an unknown approval", "POST", "/approvals/1", `{"behavior": "allow"}`, nil, 404, "not_found"},
		{"no behavior", "POST", "/approvals/1", `{}`, nil, 400, "bad_behavior"},
		{"a behavior of one's own", "POST", "/approvals/1", `{"behavior": "maybe"}`, nil, 400, "bad_behavior"},
		{"a number as message", "POST", "/approvals/1", `{"behavior": "deny", "message": 1}`, nil, 400, "bad_text"},
		{"an array as input", "POST", "/approvals/1", `{"behavior": "allow", "updated_input": []}`, nil, 400, "bad_updated_input"},
		{"a word as memory", "POST", "/approvals/1", `{"behavior": "allow", "remember": "yes"}`, nil, 400, "bad_remember"},
		{"sending to nobody", "POST", "/send", `{"channel": "tg-1", "text": "hi"}`, nil, 404, "no_adapter"},
		{"sending nowhere", "POST", "/send", `{"text": "hi"}`, nil, 400, "missing_channel"},
		{"sending nothing", "POST", "/send", `{"channel": "tg-1"}`, nil, 400, "missing_text"},
		{"sending a number", "POST", "/send", `{"channel": "tg-1", "media": {"filePath": 1}}`, nil, 400, "bad_media"},
		{"restarting with words", "POST", "/restart", `now`, nil, 400, "invalid_json"},
	} {
		a, err := g.Do(row.method, row.path, row.body, append([]string{"X-Case", row.what}, row.header...)...)
		if err != nil {
			t.Errorf("%s: %v", row.what, err)
			continue
		}
		a.Refused(t, row.what, row.status, row.code)
		if row.status == 405 && a.Header.Get("Allow") == "" {
			t.Errorf("%s: no Allow", row.what)
		}
	}
	if got := g.Must("POST", "/send", harness.Obj{"channel": "tg-1", "text": "hi"}).JSON["registered_prefixes"]; fmt.Sprint(got) != "[]" {
		t.Errorf("registered prefixes are %v", got)
	}
	g.Say("http", "echo works").Want(t, "works")
	if n := g.Balanced(); n != 1 {
		t.Errorf("%d messages accepted, want 1", n)
	}
}

func TestBrokenHTTP(t *testing.T) {
	t.Parallel()
	g := harness.NewMachine(t).Start()
	for what, raw := range map[string]string{
		"rubbish":               "\x16\x03\x01\x02\x00\x01\r\n\r\n",
		"no host":               "GET /health HTTP/1.1\r\n\r\n",
		"two hosts":             "GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
		"a body that ends":      "POST /message HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"text\"",
		"a length of words":     "POST /message HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ten\r\n\r\n{}",
		"two lengths":           "POST /message HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
		"chunks of nonsense":    "POST /message HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"a very long header":    "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: " + strings.Repeat("x", 1<<20) + "\r\n\r\n",
		"a path with a newline": "GET /channels/a\nb HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		for network, address := range map[string]string{"tcp": strings.TrimPrefix(g.Base, "http://"), "unix": g.Path("run/api.sock")} {
			conn, err := net.Dial(network, address)
			if err != nil {
				t.Fatal(err)
			}
			_, sent := io.WriteString(conn, raw)
			_ = conn.(interface{ CloseWrite() error }).CloseWrite()
			reply, seen := io.ReadAll(conn)
			_ = conn.Close()
			head, body, _ := strings.Cut(string(reply), "\r\n\r\n")
			var refusal struct{ Error, Code string }
			if err := errors.Join(sent, seen, json.Unmarshal([]byte(body), &refusal)); err != nil || refusal.Error == "" || refusal.Code == "" ||
				!strings.HasPrefix(head, "HTTP/1.1 4") || !strings.Contains(head, "\r\nContent-Type: application/json") {
				t.Errorf("%s over %s: answered %q, %v", what, network, reply, err)
			}
		}
	}
	g.Say("http", "echo works").Want(t, "works")
	if n := g.Balanced(); n != 1 {
		t.Errorf("%d messages accepted, want 1", n)
	}
}

func TestLargeMessages(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	// The program as it is shipped: under the race detector this would take long.
	m.Program = harness.Shipped(t)
	g := m.Start()
	const mib = 1 << 20
	g.Must("POST", "/message", `{"text": "`+strings.Repeat("x", 33*mib)+`"}`).Refused(t, "33 MiB", 413, "body_too_large")
	text := "prompt\n" + strings.Repeat("x", 10*mib)
	a := g.Must("POST", "/message", harness.Obj{"text": text}, 200) // 10 MiB in and out
	if got := a.Str("text"); got != "[channel: http, adapter: http]\n"+text {
		t.Errorf("a message of %d bytes comes back as %d: %.200s", len(text), len(got), a.Body)
	}
	if n := g.Balanced(); n != 1 {
		t.Errorf("%d messages accepted, want 1", n)
	}
}

func TestBodyLimitHoldsWithoutALength(t *testing.T) {
	t.Parallel()
	g := harness.NewMachine(t, "BARECLAW_BODY_LIMIT=64KiB").Start()
	for _, path := range []string{"/message", "/send", "/restart", "/approvals/1", "/channels/http/interrupt"} {
		body := io.MultiReader(strings.NewReader(`{"text": "` + strings.Repeat("x", 100<<10) + `"}`)) // sent in chunks
		req, err := http.NewRequest(http.MethodPost, g.Base+path, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		a, err := g.Send(req)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		a.Refused(t, path, 413, "body_too_large")
		if !strings.Contains(a.Str("error"), "64 KiB") || !strings.Contains(a.Str("error"), "BARECLAW_BODY_LIMIT") {
			t.Errorf("%s: %s", path, a.Body)
		}
	}
	g.Say("http", "echo works").Want(t, "works")
	if n := g.Balanced(); n != 1 {
		t.Errorf("%d messages accepted, want 1", n)
	}
}

// foreign sends a request with these headers; "Host" is the host.
func foreign(g *harness.Gateway, method, path string, header ...string) harness.Answer {
	g.T.Helper()
	var body io.Reader
	if method == "POST" {
		body = strings.NewReader(`{"text": "echo smuggled"}`)
	}
	req, err := http.NewRequest(method, g.Base+path, body)
	if err != nil {
		g.T.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	a, err := g.Send(req)
	if err != nil {
		g.T.Fatal(err)
	}
	return a
}

func TestForeignPagesAreRefused(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_ALLOWED_HOSTS=box.lan")
	g := m.Start()
	port := g.Base[strings.LastIndex(g.Base, ":"):]
	for _, host := range []string{"evil.example", "evil.example" + port, "localhost.evil.example", "127.0.0.1.evil.example", "192.168.1.7" + port, "box.lan.evil.example"} {
		for _, method := range []string{"GET", "POST"} {
			path := map[string]string{"GET": "/health", "POST": "/message"}[method]
			foreign(g, method, path, "Host", host).Refused(t, method+" for host "+host, 403, "foreign_host")
		}
	}
	for what, header := range map[string][]string{
		"another site":         {"Origin", "https://evil.example"},
		"another port":         {"Origin", "http://127.0.0.1:1"},
		"a sandbox":            {"Origin", "null"},
		"a cross-site request": {"Sec-Fetch-Site", "cross-site"},
		"a form of a neighbour": {"Origin", "http://box.lan:1", "Sec-Fetch-Site", "same-site",
			"Content-Type", "text/plain"}, // needs no preflight
	} {
		foreign(g, "POST", "/message", header...).Refused(t, "POST of "+what, 403, "foreign_origin")
		foreign(g, "POST", "/restart", header...).Refused(t, "restart by "+what, 403, "foreign_origin")
		foreign(g, "GET", "/channels", header...).Refused(t, "GET of "+what, 403, "foreign_origin")
	}
	for _, host := range []string{"localhost", "LOCALHOST" + port, "127.0.0.1", "127.9.9.9" + port, "[::1]" + port, "box.lan", "box.lan" + port} {
		if a := foreign(g, "GET", "/health", "Host", host); a.Status != 200 {
			t.Errorf("host %s: status %d: %s", host, a.Status, a.Body)
		}
	}
	if a := foreign(g, "POST", "/message", "Origin", g.Base, "Sec-Fetch-Site", "same-origin"); a.Str("text") != "smuggled" {
		t.Errorf("a page of its own: %s", a.Body)
	}
	if n := g.Balanced(); n != 1 {
		t.Errorf("%d messages accepted, want 1", n)
	}
}

func TestTokenGuardsEverything(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_HTTP_TOKEN="+harness.Token)
	g := m.Start()
	for what, header := range map[string][]string{
		"no token":      nil,
		"another token": {"Authorization", "Bearer wrong"},
		"a part of it":  {"Authorization", "Bearer " + harness.Token[:10]},
		"more of it":    {"Authorization", "Bearer " + harness.Token + "s"},
		"a basic one":   {"Authorization", "Basic " + harness.Token},
		"a bare one":    {"Authorization", harness.Token},
		"an empty one":  {"Authorization", "Bearer "},
		"a cookie":      {"Cookie", "token=" + harness.Token},
	} {
		for _, route := range []string{"POST /message", "GET /health", "GET /metrics", "GET /openapi.yaml", "POST /restart", "DELETE /channels/http", "GET /nothing"} {
			method, path, _ := strings.Cut(route, " ")
			a := foreign(g, method, path, header...)
			a.Refused(t, route+" with "+what, 401, "unauthorized")
			if a.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s: WWW-Authenticate is %q", route, a.Header.Get("WWW-Authenticate"))
			}
		}
	}
	for _, query := range []string{"?token=", "?access_token=", "?authorization=Bearer+"} {
		foreign(g, "GET", "/health"+query+harness.Token).Refused(t, "token in the query", 401, "unauthorized")
	}
	with := g.Bearer()
	with.Say("http", "echo let in").Want(t, "let in")
	g.OverSocket().Say("http", "echo over the socket").Want(t, "over the socket")
	if n := with.Balanced(); n != 2 {
		t.Errorf("%d messages accepted, want 2", n)
	}
}

func TestSocketServesTheSameAPI(t *testing.T) {
	t.Parallel()
	g := harness.NewMachine(t).Start()
	local := g.OverSocket()
	local.Say("http", "echo local").Want(t, "local")
	id := local.Tell("http", "events 3")
	local.Outcome(id).Want(t, "events 3")
	s := local.Stream("POST", "/message", harness.Obj{"text": "echo streamed"})
	s.Want("result").Want(t, "streamed")
	for _, path := range []string{"/health", "/channels", "/channels/http", "/channels/http/messages", "/approvals", "/messages/" + id, "/messages/" + id + "/trace", "/openapi.yaml"} {
		over, local := g.Must("GET", path, nil, 200), local.Must("GET", path, nil, 200)
		if path != "/health" && !bytes.Equal(over.Body, local.Body) { // its uptime goes on
			t.Errorf("%s is %s over TCP and %s on the socket", path, over.Body, local.Body)
		}
	}
	local.Must("POST", "/send", harness.Obj{"channel": "tg-1", "text": "hi"}).Refused(t, "send", 404, "no_adapter")
	local.Must("POST", "/message", "[]").Refused(t, "bad message", 400, "invalid_body")
	local.Must("GET", "/nothing", nil).Refused(t, "unknown route", 404, "not_found")
	g.Balanced()
}

func TestOtherUsersAreRefused(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		roottest.Unavailable(t, "a caller of another user: only root can start one")
	}
	shell, err := exec.LookPath("bash")
	if err != nil {
		roottest.Unavailable(t, "a caller of another user: %v", err)
	}
	const nobody = 65534
	ask := func(g *harness.Gateway, header string) string {
		t.Helper()
		_, port, _ := strings.Cut(strings.TrimPrefix(g.Base, "http://"), ":")
		cmd := exec.Command(shell, "-c", `exec 3<>/dev/tcp/127.0.0.1/"$0" && printf "$1" >&3 && cat <&3`, port,
			`GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n`+header+`\r\n`)
		cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("ask as another user: %v: %s", err, out)
		}
		return string(out)
	}
	open := harness.NewMachine(t).Start()
	if got := ask(open, ""); !strings.HasPrefix(got, "HTTP/1.1 403 ") || !strings.Contains(got, `"code":"foreign_user"`) {
		t.Errorf("without a token another user gets %q", got)
	}
	open.Must("GET", "/health", nil, 200)
	guarded := harness.NewMachine(t, "BARECLAW_HTTP_TOKEN="+harness.Token).Start()
	if got := ask(guarded, ""); !strings.HasPrefix(got, "HTTP/1.1 401 ") {
		t.Errorf("without the token another user gets %q", got)
	}
	if got := ask(guarded, `Authorization: Bearer `+harness.Token+`\r\n`); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
		t.Errorf("with the token another user gets %q", got)
	}
}

// TestRuntimeDirectoryOfOthers starts and restarts a gateway with a runtime directory that
// others can enter: that is refused, with what mends it, and the directory stays as it is.
func TestRuntimeDirectoryOfOthers(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	for _, c := range []struct {
		mode  os.FileMode
		holds string
		want  string
	}{
		{0o755, "", "chmod 700 " + m.Path("run")},
		{0o777 | os.ModeSticky, "letter.txt", "BARECLAW_RUNTIME_DIR to a directory of its own"}, // as /tmp
		{0o755, "letter.txt", "BARECLAW_RUNTIME_DIR to a directory of its own"},                 // as /run
	} {
		if err := os.Chmod(m.Path("run"), c.mode); err != nil {
			t.Fatal(err)
		}
		if c.holds != "" {
			m.Touch("run/" + c.holds)
		}
		if said := failsToStart(m, harness.ExitFailure); !strings.Contains(said, c.want) || strings.Contains(said, "chmod") != strings.Contains(c.want, "chmod") {
			t.Errorf("with mode %v and %q in it, it says %q, want %q", c.mode, c.holds, said, c.want)
		}
		if info, err := os.Stat(m.Path("run")); err != nil || info.Mode() != c.mode|os.ModeDir {
			t.Errorf("its mode was %v and is %v (%v)", c.mode, info.Mode(), err)
		}
	}
	if err := errors.Join(os.Chmod(m.Path("run"), 0o700), os.Remove(m.Path("run/letter.txt"))); err != nil {
		t.Fatal(err)
	}
	g := m.Start()
	if err := os.Chmod(m.Path("run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if a := g.Must("POST", "/restart", nil, 503); !strings.Contains(a.Str("error"), "chmod 700 "+m.Path("run")) {
		t.Errorf("restart is refused with %s", a.Body)
	}
	g.Say("http", "echo hello").Want(t, "hello")
}

// TestRuntimeDirectoryIsTooLong names a runtime directory whose sockets the system would
// not take: that is reported with the other settings that are wrong.
func TestRuntimeDirectoryIsTooLong(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_RUNTIME_DIR=/tmp/"+strings.Repeat("long/", 20), "BARECLAW_MAX_TURNS=many")
	said := failsToStart(m, harness.ExitUsage)
	for _, want := range []string{"BARECLAW_RUNTIME_DIR: ", "at most 73 bytes", "BARECLAW_MAX_TURNS: "} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %q", want, said)
		}
	}
}

func TestFilesAreClosedToOthers(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	for _, dir := range []string{"state", "run"} { // as on a first run
		if err := os.Remove(m.Path(dir)); err != nil {
			t.Fatal(err)
		}
	}
	g := m.Start("sh", "-c", `umask 0 && exec "$0" "$@"`) // nothing relies on it
	g.Say("http", "echo hello").Want(t, "hello")
	g.Say("http", "big 400000") // more than a host keeps in memory
	files := 0
	for _, root := range []string{"state", "run"} {
		err := filepath.WalkDir(m.Path(root), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // temporary
			}
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return nil //nolint:nilerr // temporary
			}
			files++
			switch want := info.Mode().Perm() &^ 0o600; {
			case info.IsDir() && info.Mode().Perm() != 0o700:
				t.Errorf("%s has mode %v", path, info.Mode())
			case info.Mode()&fs.ModeSocket != 0 && info.Mode().Perm() != 0o600:
				t.Errorf("%s has mode %v, want 0600", path, info.Mode())
			case info.Mode().IsRegular() && want != 0:
				t.Errorf("%s has mode %v", path, info.Mode())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 8 {
		t.Errorf("only %d files were looked at", files)
	}
	if info, err := os.Stat(m.Path("work/.bareclaw-sessions.json")); err != nil || info.Mode() != 0o600 {
		t.Errorf("session file: %v, %v", info, err)
	}
	g.Balanced()
}

func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	const key = "sk-ant-very-secret"
	m := harness.NewMachine(t, "BARECLAW_HTTP_TOKEN="+harness.Token, "ANTHROPIC_API_KEY="+key, "ANTHROPIC_AUTH_TOKEN="+key, "BARECLAW_LOG_LEVEL=debug",
		"CLAUDE_CODE_SSE_PORT=1", "CLAUDECODE=1", "NOTIFY_SOCKET=", "MY_TOOL=mine")
	g := m.Start().Bearer()
	for name, want := range map[string]string{
		"BARECLAW_HTTP_TOKEN": "(unset)", "BARECLAW_STATE_DIR": "(unset)", "ANTHROPIC_API_KEY": "(unset)", "ANTHROPIC_AUTH_TOKEN": "(unset)",
		"CLAUDECODE": "(unset)", "CLAUDE_CODE_SSE_PORT": "(unset)", "MY_TOOL": "mine", "HOME": m.Path("home"),
	} {
		g.Say("http", "env "+name).Want(t, want)
	}
	if args := g.Say("http", "args").Str("text"); strings.Contains(args, harness.Token) || strings.Contains(args, key) {
		t.Errorf("claude's arguments are %s", args)
	}
	foreign(g, "GET", "/health?token="+harness.Token)
	foreign(g, "GET", "/health", "Authorization", "Bearer "+harness.Token+"-wrong", "Origin", "http://evil.example")
	g.Must("POST", "/message", `{"text": 1, "token": "`+harness.Token+`"}`, 400)
	g.Say("http", "die 1") // an end with last words
	secrets := []string{harness.Token, key}
	files := append(m.Glob("state/*"), m.Glob("state/hosts/*")...)
	files = append(files, m.Glob("work/.*")...)
	for _, h := range m.Hosts() {
		for _, pid := range []int{h.PID, h.ClaudePID} {
			files = append(files, fmt.Sprintf("/proc/%d/cmdline", pid), fmt.Sprintf("/proc/%d/environ", pid))
		}
	}
	files = append(files, fmt.Sprintf("/proc/%d/cmdline", g.Cmd.Process.Pid))
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // a directory, or gone, or another system
		}
		for _, secret := range secrets {
			// The ledger's own record of the request above may not have it either: it was refused.
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s has a secret", file)
			}
		}
	}
	for _, secret := range secrets {
		if strings.Contains(m.Log.String(), secret) {
			t.Errorf("the log has a secret")
		}
	}
	if !strings.Contains(m.Log.String(), `"level":"DEBUG"`) {
		t.Error("the log has no debug lines, so this proves little")
	}
	g.Balanced()
}

func TestAPIKeyIsPassedOnlyWhenNamed(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "ANTHROPIC_API_KEY=sk-ant-named", "CLAUDE_API_KEY=sk-other", "BARECLAW_PASS_ENV=ANTHROPIC_API_KEY")
	g := m.Start()
	g.Say("http", "env ANTHROPIC_API_KEY").Want(t, "sk-ant-named")
	g.Say("http", "env CLAUDE_API_KEY").Want(t, "(unset)")
	g.Balanced()
}

func TestBadInputFromManyAtOnce(t *testing.T) {
	t.Parallel()
	g := harness.NewMachine(t).Start()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for _, row := range badMessages {
				if a, err := g.Do("POST", "/message", row.body); err != nil || a.Status != 400 {
					t.Errorf("%s: %v, status %d", row.what, err, a.Status)
				}
			}
			if a, err := g.Do("POST", "/message", harness.Obj{"channel": "http", "text": "echo " + strconv.Itoa(i)}); err != nil || a.Flag("is_error") {
				t.Errorf("%v, %s", err, a.Body)
			}
		})
	}
	wg.Wait()
	states := map[string]int{}
	for _, a := range g.Must("GET", "/channels/http/messages", nil, 200).Array("messages") {
		states[a.Str("state")]++
	}
	if n := g.Balanced(); n != 4 || states["answered"] != 4 {
		t.Errorf("%d messages accepted, %v, want 4", n, states)
	}
}
