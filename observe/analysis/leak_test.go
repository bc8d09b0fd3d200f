package analysis

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/observe/capture"
	"bareclaw/observe/rules"
)

// secretNames are names of secrets, as apps write them.
var secretNames = strings.Fields(`password password1 passwordConfirm password_confirmation password_hash db_pass passcode secret secret_key_base
	api_key apiKey client-secret token accessToken refresh_token csrf_token otp_code pin sessionId private_key jwt`)

// secrets are values that no other part of a shape has.
var secrets = []string{"hunter22", "correct-horse", "Zq9:xx/yy+k8==", "p4ss;TAILofit", "zzyzxq"}

// A shape writes a name and a secret into what an app gets or tells.
type shape struct {
	kind  string
	write func(name, secret string, t *told)
}

// A told app gets one request, and tells what it does for it.
type told struct {
	url      string
	sent     http.Header
	received http.Header
	body     string
	reply    string
	logs     []string
	query    *capture.Query
}

// bodyShapes are the forms of bodies and of lines, by media type.
func bodyShapes() []shape {
	texts := []struct{ media, kind, format string }{
		{"application/json", "JSON", `{"user":"ann",%[1]q:%[2]q,"n":1}`},
		{"application/json", "nested JSON", `{"a":[{"b":{%[1]q:{"value":[%[2]q]}}}]}`},
		{"application/json", "JSON with JSON", `{"log":"{\"%[1]s\":\"%[2]s\"}"}`},
		{"application/json", "no JSON", `{'user': 'ann', '%[1]s': '%[2]s'}`},
		{"application/json", "a line as JSON", `%[1]s=%[2]s`},
		{"text/plain", "JSON as text", `{"a":{%[1]q:%[2]q},"b":1}`},
		{"application/xml", "element", `<u><name>ann</name><%[1]s>%[2]s</%[1]s></u>`},
		{"application/xml", "attribute", `<u name="ann" %[1]s="%[2]s"/>`},
		{"application/xml", "cdata", `<u><x:%[1]s type="t"><![CDATA[%[2]s]]></x:%[1]s></u>`},
		{"application/xml", "entry", `<properties><entry key="%[1]s">%[2]s</entry></properties>`},
		{"text/html", "input", `<form><input type="hidden" name="%[1]s" value="%[2]s"></form>`},
		{"text/html", "attribute with JSON", `<div data-props="{&quot;%[1]s&quot;:&quot;%[2]s&quot;}"></div>`},
		{"multipart/form-data", "multipart", "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--X\r\nContent-Disposition: form-data; name=\"%[1]s\"\r\n\r\n%[2]s\r\n--X--\r\n"},
		{"", "multipart without type", "--X\r\nContent-Disposition: form-data; name=\"user[%[1]s]\"\r\n\r\n%[2]s\r\n--X--\r\n"},
		{"text/plain", "line", `2024-01-01 info: login of ann, %[1]s: "%[2]s" (ok)`},
		{"text/plain", "inspected", `{ user: 'ann', '%[1]s': '%[2]s' }`},
		{"text/plain", "list", `values of %[1]s: [ 'a', '%[2]s' ] and more`},
	}
	shapes := make([]shape, 0, len(texts))
	for _, text := range texts {
		shapes = append(shapes, shape{text.kind, func(name, secret string, t *told) {
			body := fmt.Sprintf(text.format, name, secret)
			t.setBody(text.media, body)
			t.logs = append(t.logs, body)
		}})
	}
	return shapes
}

// setBody is what is sent and replied.
func (t *told) setBody(media, body string) {
	t.body = body
	t.reply = body
	if media != "" {
		t.sent.Set("Content-Type", media)
		t.received.Set("Content-Type", media)
	}
}

// formShapes are the forms of queries and of bodies that forms send.
func formShapes() []shape {
	escape := url.QueryEscape
	forms := map[string]func(name, secret string) string{
		"form":         func(name, secret string) string { return "a=1&" + name + "=" + escape(secret) + "&b=2" },
		"raw form":     func(name, secret string) string { return name + "=" + secret },
		"nested form":  func(name, secret string) string { return "user%5B" + name + "%5D=" + escape(secret) },
		"brackets":     func(name, secret string) string { return "user[" + name + "]=" + escape(secret) },
		"JSON in form": func(name, secret string) string { return "data=" + escape(`{"a":1,"`+name+`":"`+secret+`"}`) },
		"URL in form":  func(name, secret string) string { return "next=" + escape("/reset?"+name+"="+escape(secret)+"&a=1") },
	}
	var shapes []shape
	for _, kind := range slices.Sorted(maps.Keys(forms)) {
		shapes = append(shapes, shape{kind, func(name, secret string, t *told) {
			form := forms[kind](name, secret)
			t.url = "/login?" + form
			t.setBody("application/x-www-form-urlencoded", form)
			t.sent.Set("Referer", "http://localhost/a?"+form)
			t.received.Set("Location", "/b?"+form)
			t.logs = append(t.logs, "GET /login?"+form+" 200")
		}}, shape{kind + " without type", func(name, secret string, t *told) {
			t.setBody("", forms[kind](name, secret))
		}})
	}
	return shapes
}

// headerShapes are headers, of requests and in lines. Their names say what they are.
func headerShapes() []shape {
	headers := map[string]string{
		"Authorization":             "Token %s",
		"Proxy-Authorization":       "Basic %s",
		"Cookie":                    "theme=dark; sid=%s",
		"X-Auth-Key":                "%s",
		"X-Session":                 "%s",
		"Ocp-Apim-Subscription-Key": "%s",
		"X-Api-Key":                 "%s",
		"Sec-WebSocket-Protocol":    "graphql-ws, %s",
		"X-Amz-Security-Token":      "%s",
		"X-Csrf-Token":              "%s",
	}
	var shapes []shape
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		shapes = append(shapes, shape{name, func(_, secret string, t *told) {
			secret = strings.ReplaceAll(secret, ";", "")
			value := fmt.Sprintf(headers[name], secret)
			t.sent.Set(name, value)
			if name == "Sec-WebSocket-Protocol" {
				return
			}
			t.logs = append(t.logs, name+": "+value, "headers: { host: 'a', '"+strings.ToLower(name)+"': '"+value+"' }")
		}})
	}
	return append(shapes, shape{"Set-Cookie", func(name, secret string, t *told) {
		cookie := name + "=" + strings.ReplaceAll(secret, ";", "") + "; Path=/; HttpOnly"
		t.received.Set("Set-Cookie", cookie)
		t.logs = append(t.logs, "Set-Cookie: "+cookie)
	}}, shape{"bearer", func(_, secret string, t *told) {
		secret = strings.NewReplacer(";", "", ":", "").Replace(secret)
		t.logs = append(t.logs, "the call with Bearer "+secret+" failed")
	}})
}

// queryShapes are queries, as their texts and parameters.
func queryShapes() []shape {
	texts := []string{
		"SELECT id FROM users WHERE %s = '%s' AND a = 'x'",
		"SELECT id FROM users WHERE lower(%s) = lower('%s')",
		"SELECT id FROM users WHERE %s = crypt('%s', salt)",
		"SELECT id FROM users u WHERE u.%s IN ('a', '%s')",
		"INSERT INTO users (email, %s, n) VALUES ('ann', '%s', 1)",
		"INSERT INTO users (email, %s) SELECT 'ann', '%s'",
		"UPDATE users SET name = 'ann', %s = '%s' WHERE id = 1",
		"UPDATE users SET %s = E'%s'",
		"UPDATE users SET %s = CASE WHEN id = 1 THEN '%s' ELSE 'b' END",
		"/* %s */ CREATE USER ann IDENTIFIED BY '%s'",
		"/* %s */ ALTER ROLE ann WITH ENCRYPTED PASSWORD '%s'",
		"/* %s */ SET PASSWORD FOR 'ann'@'%%' = PASSWORD('%s')",
		"HSET user:1 %s %s",
	}
	shapes := make([]shape, 0, len(texts)+1)
	for _, text := range texts {
		shapes = append(shapes, shape{text, func(name, secret string, t *told) {
			t.query = &capture.Query{Text: fmt.Sprintf(text, strings.ReplaceAll(name, "-", "_"), strings.ReplaceAll(secret, "=", "")), Rows: -1}
		}})
	}
	return append(shapes, shape{"parameters", func(name, secret string, t *told) {
		t.query = &capture.Query{
			Text:        "UPDATE users SET " + strings.ReplaceAll(name, "-", "_") + " = $1 WHERE id = $2",
			Values:      "[" + secret + ", 7]",
			ValuesKnown: true,
			Rows:        -1,
		}
	}}, shape{"AUTH", func(_, secret string, t *told) {
		t.query = &capture.Query{Text: "AUTH default " + strings.ReplaceAll(secret, "=", ""), Rows: -1}
	}})
}

// tokens are secrets by their looks.
var tokens = []string{
	"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dGhpcyBpcyBhIHNpZ25hdHVyZQ", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	"Vx3kQ9-aZ_81bTqL0pWm7RyCeD", "kJhGfDsAQwErTyUiOpLkJhGfDsAQwErT",
}

// pathShapes are paths that have a token.
func pathShapes() []shape {
	paths := []string{"/reset/%s", "/reset/%s/confirm?a=1", "/account;jsessionid=%s", "/a;token=%s/b"}
	shapes := make([]shape, 0, len(paths))
	for _, path := range paths {
		shapes = append(shapes, shape{path, func(_, secret string, t *told) {
			t.url = fmt.Sprintf(path, secret)
			t.sent.Set("Referer", "http://localhost"+t.url)
			t.logs = append(t.logs, "sent https://shop.example"+t.url+" to ann")
			t.setBody("application/json", `{"link":"https://shop.example`+t.url+`"}`)
		}})
	}
	return shapes
}

// TestSecretsGoNowhere: no secret is in what a store gives out or in a finding, whatever the app writes around it.
func TestSecretsGoNowhere(t *testing.T) {
	t.Parallel()
	named := slices.Concat(bodyShapes(), formShapes(), headerShapes(), queryShapes())
	for _, one := range named {
		t.Run(one.kind, func(t *testing.T) {
			t.Parallel()
			leakless(t, one, secretNames, secrets)
		})
	}
	for _, one := range pathShapes() {
		t.Run(one.kind, func(t *testing.T) {
			t.Parallel()
			leakless(t, one, []string{"-"}, tokens)
		})
	}
}

// leakless passes a shape with all names and secrets, and looks for them in all that is kept.
func leakless(t *testing.T, one shape, names, secrets []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := newObserver(t, rules.All()...)
		store := capture.NewStore(capture.Options{ReadsOutput: true})
		o.analyst.options.Source = store
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go store.Run(ctx)
		go func() { _ = o.analyst.Run(ctx) }()
		for _, name := range names {
			for _, secret := range secrets {
				o.next++
				tell(store, o.next, one, name, secret)
				time.Sleep(time.Minute)
				synctest.Wait()
			}
		}
		kept := store.Requests(capture.Filter{})
		if len(kept) != len(names)*len(secrets) {
			t.Errorf("%d requests are kept", len(kept))
		}
		var out bytes.Buffer
		for _, r := range kept {
			fmt.Fprintf(&out, "%+v %s %s\n", *r, r.Sent.Body, r.Received.Body)
		}
		fmt.Fprintf(&out, "%+v\n%+v\n%+v\n", store.Endpoints(), store.Unjoined(), o.store.All())
		for line := range strings.Lines(out.String()) {
			for _, secret := range secrets {
				for _, part := range strings.FieldsFunc(secret, func(r rune) bool { return strings.ContainsRune(";:/+=-", r) }) {
					if strings.Contains(line, part) && len(part) > 2 {
						t.Fatalf("%s stands in %s", part, line)
					}
				}
			}
		}
	})
}

// tell sends a request to the app, which tells what the shape writes.
func tell(store *capture.Store, n int, one shape, name, secret string) {
	app := told{
		url:      "/login",
		sent:     http.Header{},
		received: http.Header{},
	}
	one.write(name, secret, &app)
	r := capture.Request{
		ID:      fmt.Sprintf("%016x", n),
		Trace:   capture.TraceID{byte(n), byte(n >> 8), 1},
		Span:    capture.SpanID{1},
		Client:  "browser",
		Method:  http.MethodPost,
		URL:     app.url,
		Started: time.Now(),
	}
	store.Begin(r)
	r.Status = http.StatusOK
	r.End = capture.Complete
	r.Sent.Header = app.sent
	r.Received.Header = app.received
	for _, line := range app.logs {
		store.Signal(capture.Signal{Request: r.ID, Log: &capture.Log{At: time.Now(), Text: line, From: "stdout"}})
		store.Signal(capture.Signal{Request: r.ID, Fault: &capture.Fault{At: time.Now(), Name: "Error", Message: line, Stack: line}})
		store.Signal(capture.Signal{Log: &capture.Log{At: time.Now(), Text: line, From: "stdout"}})
	}
	if app.query != nil {
		store.Signal(capture.Signal{Request: r.ID, Query: app.query})
	}
	store.Signal(capture.Signal{Request: r.ID, Fetch: &capture.Fetch{At: time.Now(), Method: "GET", URL: "http://localhost:9" + app.url}})
	store.End(capture.Raw{
		Request:  r,
		Sent:     capture.RawBody{Bytes: []byte(app.body)},
		Received: capture.RawBody{Bytes: []byte(app.reply)},
	})
}
