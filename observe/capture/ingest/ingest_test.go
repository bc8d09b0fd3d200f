package ingest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/observe/capture"
)

// recorder is a sink that keeps what it is told.
type recorder struct {
	mu       sync.Mutex
	signals  []capture.Signal
	requests []capture.Raw
}

func (r *recorder) Signal(s capture.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.signals = append(r.signals, s)
}

func (r *recorder) End(raw capture.Raw) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, raw)
}

// post sends a batch, and returns the status and the answer.
func post(sink Sink, body string) (int, string) {
	w := httptest.NewRecorder()
	NewReceiver(sink).ServeHTTP(w, httptest.NewRequest(http.MethodPost, Path, strings.NewReader(body)))
	return w.Code, w.Body.String()
}

// take sends events with a version, which must be taken.
func take(t testing.TB, events ...string) *recorder {
	t.Helper()
	var sink recorder
	status, answer := post(&sink, `{"_brakit": true, "version": 1, "sdk": "brakit-python/0.1.0", "events": [`+strings.Join(events, ",")+`]}`)
	if status != http.StatusNoContent || answer != "" {
		t.Fatalf("the batch is answered %d %q", status, answer)
	}
	return &sink
}

const id = "0f3c5a7e9b1d4c6f8a0b2c4d6e8f0a1b"

var told = time.UnixMicro(1_800_000_000_123_500)

// TestSDKInPython: each event that the SDK for Python sends, as it sends it: a time of when something
// has ended, names in camel case, and null for what is unknown.
func TestSDKInPython(t *testing.T) {
	t.Parallel()
	sink := take(t,
		`{"type": "db.query", "timestamp": 1800000000130.25, "requestId": "`+id+`", "data": {"id": "a1", "parentRequestId": "`+id+`",
			"timestamp": 1800000000123.5, "driver": "asyncpg", "sql": "SELECT * FROM users WHERE id = $1", "operation": "SELECT",
			"table": "users", "durationMs": 3.5, "rowCount": 12, "parentFetchId": null}}`,
		`{"type": "db.query", "timestamp": 1800000000130.25, "requestId": "`+id+`", "data": {"timestamp": 1800000000123.5,
			"driver": "sqlalchemy", "sql": null, "operation": "INSERT", "table": "logs", "durationMs": 0, "rowCount": null}}`,
		`{"type": "fetch", "timestamp": 1800000000130.25, "requestId": "`+id+`", "data": {"timestamp": 1800000000123.5,
			"url": "http://127.0.0.1:9/rates", "method": "GET", "statusCode": 0, "durationMs": 23.5, "fetchId": "f1"}}`,
		`{"type": "log", "timestamp": 1800000000130.25, "data": {"timestamp": 1800000000123.5, "parentRequestId": null,
			"level": "WARNING", "message": "password=hunter22"}}`,
		`{"type": "error", "timestamp": 1800000000130.25, "requestId": "`+id+`", "data": {"timestamp": 1800000000123.5,
			"name": "KeyError", "message": "'id'", "stack": "Traceback (most recent call last):\n"}}`,
		`{"type": "error", "timestamp": 1800000000123.5, "requestId": "`+id+`", "data": {"message": "x", "stack": "NoneType: None\n"}}`,
		`{"type": "auth.check", "timestamp": 1800000000123.5, "requestId": "`+id+`", "data": {"provider": "session", "result": "denied"}}`,
		`{"type": "cache.hit", "timestamp": 1800000000123.5, "data": {}}`,
		`{"type": "log", "timestamp": {}, "data": "of another version"}`,
		`7`,
	)
	want := []capture.Signal{
		{
			Request: id,
			At:      told.Add(-3500 * time.Microsecond),
			Query: &capture.Query{
				At:     told.Add(-3500 * time.Microsecond),
				Took:   3500 * time.Microsecond,
				System: "postgresql",
				Text:   "SELECT * FROM users WHERE id = $1",
				Table:  "users",
				Rows:   12,
			},
		},
		{
			Request: id,
			At:      told,
			Query: &capture.Query{
				At:     told,
				System: "sqlalchemy",
				Text:   "INSERT logs",
				Table:  "logs",
				Rows:   -1,
			},
		},
		{
			Request: id,
			At:      told.Add(-23500 * time.Microsecond),
			Fetch: &capture.Fetch{
				At:     told.Add(-23500 * time.Microsecond),
				Took:   23500 * time.Microsecond,
				Method: "GET",
				URL:    "http://127.0.0.1:9/rates",
			},
		},
		{
			At: told,
			Log: &capture.Log{
				At:    told,
				Level: "warning",
				Text:  "password=hunter22",
				From:  "sdk",
			},
		},
		{
			Request: id,
			At:      told,
			Fault: &capture.Fault{
				At:      told,
				Name:    "KeyError",
				Message: "'id'",
				Stack:   "Traceback (most recent call last):\n",
			},
		},
		{
			Request: id,
			At:      told,
			Fault: &capture.Fault{
				At:      told,
				Name:    "Error",
				Message: "x",
			},
		},
		{
			Request: id,
			At:      told,
			Log: &capture.Log{
				At:    told,
				Level: "info",
				Text:  "auth check by session: denied",
				From:  "sdk",
			},
		},
	}
	if len(sink.signals) != len(want) || len(sink.requests) != 0 {
		t.Fatalf("got %d signals and %d requests", len(sink.signals), len(sink.requests))
	}
	for i := range want {
		if !reflect.DeepEqual(sink.signals[i], want[i]) {
			t.Errorf("event %d tells %+v, want %+v", i, sink.signals[i], want[i])
		}
	}
}

// requestEvent is a request as the SDK for Python tells of it, with some members changed.
func requestEvent(changes ...string) string {
	event := `{"type": "request", "timestamp": 1800000000130.25, "requestId": "` + id + `", "data": {"id": "` + id + `", "method": "POST",
		"url": "/users", "statusCode": 201, "durationMs": 12.5, "timestamp": 1800000000123.5,
		"headers": {"Host": "127.0.0.1:5000", "Content-Type": "application/json", "Authorization": "Bear...wxyz"},
		"responseHeaders": {"Content-Type": "application/json; charset=utf-8", "Set-Cookie": "sess...ly=1", "X-Odd": 7},
		"requestBody": "{\"name\": \"a\"}", "responseBody": "{\"id\": 7}", "responseSize": 9, "isStatic": false, "isHealthCheck": false}}`
	return strings.NewReplacer(changes...).Replace(event)
}

// TestRequests: what the SDK knows of a request, and what it does not.
func TestRequests(t *testing.T) {
	t.Parallel()
	sink := take(t, requestEvent())
	want := capture.Raw{
		Request: capture.Request{
			ID:      id,
			Method:  "POST",
			URL:     "/users",
			Started: told.Add(-12500 * time.Microsecond),
			Took:    12500 * time.Microsecond,
			Status:  201,
			End:     capture.Complete,
			Sent: capture.Message{Header: http.Header{
				"Host":          {"127.0.0.1:5000"},
				"Content-Type":  {"application/json"},
				"Authorization": {"Bear...wxyz"},
			}},
			Received: capture.Message{
				Header: http.Header{"Content-Type": {"application/json; charset=utf-8"}},
				Size:   9,
			},
		},
		Sent:     capture.RawBody{Bytes: []byte(`{"name": "a"}`)},
		Received: capture.RawBody{Bytes: []byte(`{"id": 7}`)},
	}
	if len(sink.requests) != 1 || !reflect.DeepEqual(sink.requests[0], want) {
		t.Errorf("got %+v, want %+v", sink.requests, want)
	}
	const body = `"{\"id\": 7}"`
	for name, c := range map[string]struct {
		event string
		check func(r capture.Raw) bool
	}{
		"a body that the SDK has cut": {
			requestEvent(body, `"`+strings.Repeat("é", sdkBody)+`"`, `"responseSize": 9`, `"responseSize": 90000`),
			func(r capture.Raw) bool { return r.Received.Cut && r.Request.Received.Size == 90000 },
		},
		"a long body": {
			requestEvent(body, `"`+strings.Repeat("x", 2*capture.MaxBody)+`"`),
			func(r capture.Raw) bool { return r.Received.Cut && len(r.Received.Bytes) == capture.MaxBody },
		},
		"a stream": {
			requestEvent(body, `null`, `"responseSize": 9`, `"responseSize": 0`),
			func(r capture.Raw) bool { return r.Received.Bytes == nil && r.Request.Received.Size == 0 },
		},
		"a body that the SDK has not read": {
			requestEvent(body, `null`, `"X-Odd": 7`, `"content-length": "265"`, `"responseSize": 9`, `"responseSize": 0`),
			func(r capture.Raw) bool { return r.Received.Bytes == nil && r.Request.Received.Size == 265 },
		},
		"no body": {
			requestEvent(body, `null`, `"X-Odd": 7`, `"Content-Length": "0"`, `"responseSize": 9`, `"responseSize": 0`),
			func(r capture.Raw) bool { return r.Received.Bytes != nil && len(r.Received.Bytes) == 0 },
		},
		"a compressed body": {
			requestEvent(`"X-Odd": 7`, `"Content-Encoding": "gzip"`),
			func(r capture.Raw) bool { return r.Request.Received.Header.Get("Content-Encoding") == "" },
		},
		"a whole URL": {
			requestEvent(`"/users"`, `"http://127.0.0.1:5000/users?a=b"`),
			func(r capture.Raw) bool { return r.Request.URL == "/users?a=b" },
		},
		"nothing known": {
			`{"type": "request", "timestamp": 1800000000123.5, "requestId": "r", "data": {"headers": [], "durationMs": -1}}`,
			func(raw capture.Raw) bool {
				r := raw.Request
				return r.ID == "r" && r.Method == http.MethodGet && r.Status == 200 && r.Took == 0 && r.Started.Equal(told)
			},
		},
	} {
		sink := take(t, c.event)
		if len(sink.requests) != 1 || !c.check(sink.requests[0]) {
			t.Errorf("%s: got %+v", name, sink.requests)
		}
	}
	for name, event := range map[string]string{
		"static":         requestEvent(`"isStatic": false`, `"isStatic": true`),
		"a health check": requestEvent(`"isHealthCheck": false`, `"isHealthCheck": true`),
		"without an id":  `{"type": "request", "data": {}}`,
		"a long id":      `{"type": "request", "data": {"id": "` + strings.Repeat("a", 200) + `"}}`,
	} {
		if sink := take(t, event); len(sink.requests) != 0 {
			t.Errorf("%s: got %+v", name, sink.requests)
		}
	}
}

// TestBatchWithoutVersion: the request is named in the data, and the time may be one of a clock that
// starts with the process.
func TestBatchWithoutVersion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sink recorder
		status, answer := post(&sink, `{"_brakit": true, "events": [
			{"type": "query", "data": {"driver": "pg", "sql": "SELECT 1", "durationMs": 2, "parentRequestId": "r1", "timestamp": 4711.25}},
			{"type": "query", "data": {"driver": "prisma", "model": "User", "operation": "findMany", "durationMs": 2, "parentRequestId": "r1"}},
			{"type": "query", "data": {"parentRequestId": "r1"}},
			{"type": "fetch", "data": {"url": "http://127.0.0.1:9/", "method": "GET", "statusCode": 200, "durationMs": 2, "parentRequestId": null}},
			{"type": "log", "data": {"level": "log", "message": "hi", "parentRequestId": "r1", "timestamp": 1800000000123.5}},
			{"type": "error", "data": {"message": "x", "parentRequestId": "r1"}}]}`)
		if status != http.StatusNoContent || len(sink.signals) != 5 {
			t.Fatalf("%d %q, %d signals", status, answer, len(sink.signals))
		}
		query := sink.signals[0]
		if query.Request != "r1" || query.Query.System != "postgresql" || !query.At.Equal(time.Now().Add(-2*time.Millisecond)) {
			t.Errorf("the query is %+v of %+v", query.Query, query)
		}
		if q := sink.signals[1].Query; q.Text != "findMany User" || q.System != "prisma" {
			t.Errorf("the query of a model is %+v", q)
		}
		if s := sink.signals[2]; s.Request != "" || s.Fetch.Status != 200 {
			t.Errorf("the fetch is %+v of %+v", s.Fetch, s)
		}
		if l := sink.signals[3].Log; l.Level != "log" || !l.At.Equal(told) {
			t.Errorf("the line is %+v", l)
		}
		if f := sink.signals[4].Fault; f.Name != "Error" || f.Message != "x" {
			t.Errorf("the error is %+v", f)
		}
	})
}

// TestRefusals: what is no batch is refused with words.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for body, says := range map[string]string{
		"":                                    "not a JSON object",
		"<html>":                              "not a JSON object",
		"[]":                                  "not a JSON object",
		"null":                                `must have \"_brakit\": true`,
		`{"events": []}`:                      `must have \"_brakit\": true`,
		`{"_brakit": 1, "events": []}`:        `must have \"_brakit\": true`,
		`{"_brakit": true}`:                   "events of the batch must be an array",
		`{"_brakit": true, "events": {}}`:     "events of the batch must be an array",
		`{"_brakit": true, "events": [{}`:     "not a JSON object",
		`{"_brakit": true, "version": "1"}`:   "version of the batch must be a number",
		strings.Repeat(`{"events":[`, 10_000): "exceeded max depth",
	} {
		var sink recorder
		status, answer := post(&sink, body)
		if status != http.StatusBadRequest || !strings.Contains(answer, says) || !strings.HasPrefix(answer, `{"error":"`) {
			t.Errorf("%.40q is answered %d %q, want %q", body, status, answer, says)
		}
	}
	status, answer := post(&recorder{}, `{"_brakit": true, "events": ["`+strings.Repeat("x", maxBody)+`"]}`)
	if status != http.StatusRequestEntityTooLarge || !strings.Contains(answer, "more than 10 MiB; send fewer events") {
		t.Errorf("a large batch is answered %d %q", status, answer)
	}
	w := httptest.NewRecorder()
	NewReceiver(&recorder{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, Path, nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != http.MethodPost {
		t.Errorf("GET is answered %d, allowed is %q", w.Code, w.Header().Get("Allow"))
	}
}

// TestClientGone: a batch that does not come whole is not taken.
func TestClientGone(t *testing.T) {
	t.Parallel()
	var sink recorder
	server := httptest.NewServer(NewReceiver(&sink))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+Path, io.LimitReader(strings.NewReader("{}"), 2))
	check.OK(t, err)
	request.ContentLength = 100
	response, err := http.DefaultClient.Do(request)
	if err == nil {
		response.Body.Close()
		t.Errorf("half a batch is answered %d", response.StatusCode)
	}
	if len(sink.signals) != 0 {
		t.Errorf("half a batch tells %+v", sink.signals)
	}
}

// TestStore: the store joins what an SDK tells with the request that has passed the proxy, and keeps
// one that has not.
func TestStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := capture.NewStore(capture.Options{})
		go store.Run(t.Context()) // ends with the test
		proxied := capture.Request{
			ID:      "proxied",
			Span:    capture.SpanID{1},
			Method:  "GET",
			URL:     "/users/8",
			Started: time.Now(),
			Status:  200,
			End:     capture.Complete,
		}
		store.Begin(proxied)
		store.End(capture.Raw{Request: proxied})
		status, answer := post(store, `{"_brakit": true, "version": 1, "events": [`+requestEvent()+`,
			{"type": "db.query", "requestId": "`+id+`", "data": {"driver": "asyncpg", "sql": "SELECT 1"}},
			`+requestEvent(id, "proxied")+`,
			{"type": "log", "requestId": "proxied", "data": {"message": "password=hunter22"}}]}`)
		if status != http.StatusNoContent {
			t.Fatalf("%d %s", status, answer)
		}
		synctest.Wait()
		own, ok := store.Request(id)
		if !ok || own.Endpoint != "POST /users" || len(own.Queries) != 1 || !own.Evidence.Has(capture.Response|capture.Body|capture.Queried) {
			t.Errorf("the SDK's request is %+v", own)
		}
		joined, ok := store.Request("proxied")
		if !ok || joined.Method != http.MethodGet || len(joined.Logs) != 1 || strings.Contains(joined.Logs[0].Text, "hunter22") {
			t.Errorf("the proxy's request is %+v", joined)
		}
		if n := len(store.Requests(capture.Filter{})); n != 2 {
			t.Errorf("the store has %d requests", n)
		}
	})
}

// TestSecretsInForms: the parts of a form that an SDK tells have no secrets in the store.
func TestSecretsInForms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := capture.NewStore(capture.Options{})
		go store.Run(t.Context()) // ends with the test
		status, answer := post(store, `{"_brakit": true, "version": 1, "events": [{"type": "request", "requestId": "`+id+`", "data": {
			"method": "POST", "url": "/in", "statusCode": 200, "headers": {"content-type": "multipart/form-data; boundary=X"},
			"requestBody": "--X\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nhunter22\r\n--X--\r\n",
			"responseBody": "user%5Bpassword%5D=hunter22"}}]}`)
		if status != http.StatusNoContent {
			t.Fatalf("%d %s", status, answer)
		}
		synctest.Wait()
		kept, ok := store.Request(id)
		isMasked := strings.Contains(string(kept.Sent.Body), "\r\n\r\n[masked:8]\r\n--X--") && string(kept.Received.Body) == "user%5Bpassword%5D=[masked:8]"
		if !ok || !isMasked {
			t.Errorf("kept are %q and %q", kept.Sent.Body, kept.Received.Body)
		}
	})
}
