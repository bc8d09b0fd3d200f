package otlp

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/observe/capture"
)

// recorder is a sink that keeps what it is told.
type recorder struct {
	mu      sync.Mutex
	signals []capture.Signal
}

func (r *recorder) Signal(s capture.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.signals = append(r.signals, s)
}

// post sends a body as an exporter does, and returns the answer.
func post(t testing.TB, r *Receiver, path string, header map[string]string, body []byte) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	for name, value := range header {
		request.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, request)
	return w
}

// told sends spans in both encodings, and returns what they tell: the same.
func told(t testing.TB, spans ...testSpan) []capture.Signal {
	t.Helper()
	var both [][]capture.Signal
	for media, body := range tracesIn(t, spans...) {
		var sink recorder
		w := post(t, NewReceiver(&sink), "/v1/traces", map[string]string{"Content-Type": media}, body)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != media {
			t.Fatalf("%s is answered %d as %s: %q", media, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
		both = append(both, sink.signals)
	}
	if !reflect.DeepEqual(both[0], both[1]) {
		t.Errorf("the two encodings tell\n%+v and\n%+v", both[0], both[1])
	}
	return both[0]
}

const (
	traceHex  = "aaaabbbbccccddddeeeeffff00001111"
	spanHex   = "1234567890abcdef"
	parentHex = "fedcba0987654321"
	second    = 1_000_000_000
	noon      = 1_800_000_000 * second
)

// spanOf returns a span of a kind that took 1.5 seconds.
func spanOf(kind int, attributes object) testSpan {
	return testSpan{
		trace:      traceHex,
		id:         spanHex,
		parent:     parentHex,
		name:       "step",
		kind:       kind,
		start:      noon,
		end:        noon + 3*second/2,
		attributes: attributes,
	}
}

// TestSpanSaysWhereItBelongs: ids, time, and whether the step answers a request.
func TestSpanSaysWhereItBelongs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   int
		server bool
	}{{1, false}, {kindServer, true}, {kindClient, false}} {
		signals := told(t, spanOf(c.kind, nil))
		if len(signals) != 1 {
			t.Fatalf("a span tells %d signals", len(signals))
		}
		want := capture.Signal{
			Trace:  capture.TraceID([]byte(bytesOf(traceHex))),
			Span:   capture.SpanID([]byte(bytesOf(spanHex))),
			Parent: capture.SpanID([]byte(bytesOf(parentHex))),
			Server: c.server,
			At:     time.Unix(0, noon),
		}
		if signals[0] != want {
			t.Errorf("kind %d: got %+v, want %+v", c.kind, signals[0], want)
		}
	}
	root := spanOf(kindServer, nil)
	root.parent = ""
	if s := told(t, root); len(s) != 1 || s[0].Parent != (capture.SpanID{}) {
		t.Errorf("a span without a parent tells %+v", s)
	}
}

// TestQueries: both generations of names, what is known of values and rows, and steps that are no query.
func TestQueries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		span func() testSpan
		want *capture.Query
	}{
		"stable names": {
			func() testSpan {
				return spanOf(kindClient, object{
					"db.system.name":            "postgresql",
					"db.query.text":             "SELECT * FROM users WHERE id = $1 AND age > $2",
					"db.collection.name":        "users",
					"db.query.parameter.1":      "20",
					"db.query.parameter.0":      "7",
					"db.response.returned_rows": 120,
				})
			},
			&capture.Query{
				System:      "postgresql",
				Text:        "SELECT * FROM users WHERE id = $1 AND age > $2",
				Table:       "users",
				Values:      "0=7, 1=20",
				ValuesKnown: true,
				Rows:        120,
			},
		},
		"older names": {
			func() testSpan {
				return spanOf(kindClient, object{
					"db.system":    "PostgreSQL",
					"db.statement": "SELECT 1",
					"db.user":      "app",
				})
			},
			&capture.Query{
				System:      "postgresql",
				Text:        "SELECT 1",
				ValuesKnown: true,
				Rows:        -1,
			},
		},
		"values of the driver for PostgreSQL in Node": {
			func() testSpan {
				return spanOf(kindClient, object{
					"db.system":            "postgresql",
					"db.statement":         "SELECT $1",
					"db.postgresql.values": []string{"7", `a "b"`},
				})
			},
			&capture.Query{
				System:      "postgresql",
				Text:        "SELECT $1",
				Values:      `["7","a \"b\""]`,
				ValuesKnown: true,
				Rows:        -1,
			},
		},
		"no text": {
			func() testSpan {
				return spanOf(kindClient, object{
					"db.system":             "mongodb",
					"db.operation":          "find",
					"db.mongodb.collection": "users",
				})
			},
			&capture.Query{
				System: "mongodb",
				Text:   "find users",
				Table:  "users",
				Rows:   -1,
			},
		},
		"failed": {
			func() testSpan {
				s := spanOf(1, object{"db.system": "sqlite", "db.statement": "SELEC 1"})
				s.status = statusError
				s.exceptions = []object{{"exception.type": "SyntaxError"}}
				s.kind = kindClient
				return s
			},
			&capture.Query{
				System: "sqlite",
				Text:   "SELEC 1",
				Rows:   -1,
				Failed: true,
			},
		},
		"connects": {
			func() testSpan { return spanOf(kindClient, object{"db.system": "postgresql", "db.name": "app"}) },
			nil,
		},
		"prepares": {
			func() testSpan {
				s := spanOf(kindClient, object{"db.system": "mysql", "db.statement": "SELECT 1"})
				s.name = "sql.conn.prepare"
				return s
			},
			nil,
		},
		"a server of queries": {
			func() testSpan { return spanOf(kindServer, object{"db.system": "mysql", "db.statement": "SELECT 1"}) },
			nil,
		},
	} {
		signals := told(t, c.span())
		if len(signals) != 1 {
			t.Errorf("%s: %d signals", name, len(signals))
			continue
		}
		if c.want != nil {
			c.want.At = time.Unix(0, noon)
			c.want.Took = 1500 * time.Millisecond
		}
		if !reflect.DeepEqual(signals[0].Query, c.want) {
			t.Errorf("%s: got %+v, want %+v", name, signals[0].Query, c.want)
		}
	}
}

// TestFetches: both generations of names, and a URL in parts.
func TestFetches(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind       int
		attributes object
		want       *capture.Fetch
	}{
		"stable names": {
			kindClient,
			object{"http.request.method": "POST", "url.full": "https://api.example/a?b=c", "http.response.status_code": 201},
			&capture.Fetch{Method: "POST", URL: "https://api.example/a?b=c", Status: 201},
		},
		"older names": {
			kindClient,
			object{"http.method": "GET", "http.url": "http://127.0.0.1:81/", "http.status_code": "404"},
			&capture.Fetch{Method: "GET", URL: "http://127.0.0.1:81/", Status: 404},
		},
		"in parts": {
			kindClient,
			object{"http.method": "GET", "net.peer.name": "db.example", "net.peer.port": 8080, "http.target": "/a?b"},
			&capture.Fetch{Method: "GET", URL: "http://db.example:8080/a?b"},
		},
		"in newer parts": {
			kindClient,
			object{
				"http.request.method": "GET",
				"server.address":      "::1",
				"server.port":         443,
				"url.scheme":          "https",
				"url.path":            "/a",
				"url.query":           "b=c",
			},
			&capture.Fetch{Method: "GET", URL: "https://[::1]:443/a?b=c"},
		},
		"a call that is no HTTP":     {kindClient, object{"rpc.system": "grpc"}, nil},
		"a request that is answered": {kindServer, object{"http.request.method": "GET"}, nil},
	} {
		signals := told(t, spanOf(c.kind, c.attributes))
		if c.want != nil {
			c.want.At = time.Unix(0, noon)
			c.want.Took = 1500 * time.Millisecond
		}
		if len(signals) != 1 || !reflect.DeepEqual(signals[0].Fetch, c.want) {
			t.Errorf("%s: got %+v, want %+v", name, signals[0].Fetch, c.want)
		}
	}
}

// TestOneQueryIsToldOnce: a query builder and its driver both tell of a query, in one batch or in two.
func TestOneQueryIsToldOnce(t *testing.T) {
	t.Parallel()
	query := object{"db.system": "postgresql", "db.statement": "SELECT 1"}
	driver := spanOf(kindClient, query)
	builder := spanOf(kindClient, query)
	driver.id = "0000000000000001"
	driver.parent = "0000000000000002"
	builder.id = "0000000000000002"
	builder.name = "knex.query"
	signals := told(t, driver, builder)
	if len(signals) != 2 || signals[0].Query == nil || signals[1].Query != nil {
		t.Errorf("got %+v", signals)
	}
	var sink recorder
	r := NewReceiver(&sink)
	for _, s := range []testSpan{driver, builder, driver} {
		post(t, r, "/v1/traces", map[string]string{"Content-Type": mediaJSON}, tracesIn(t, s)[mediaJSON])
	}
	if len(sink.signals) != 3 || sink.signals[1].Query != nil || sink.signals[2].Query == nil {
		t.Errorf("got %+v", sink.signals)
	}
}

// TestFaults: errors that a step records, and an answer that failed; not those of calls, which the app
// handles or passes on.
func TestFaults(t *testing.T) {
	t.Parallel()
	exceptions := []object{
		{"exception.type": "TypeError", "exception.message": "x is not a function", "exception.stacktrace": "at f (a.js:1:2)"},
		{"exception.message": "second"},
	}
	thrown := spanOf(1, nil)
	thrown.exceptions = exceptions
	signals := told(t, thrown)
	ended := time.Unix(0, noon+3*second/2)
	want := []capture.Fault{
		{
			At:      ended,
			Name:    "TypeError",
			Message: "x is not a function",
			Stack:   "at f (a.js:1:2)",
		},
		{At: ended, Name: "Error", Message: "second"},
	}
	if len(signals) != 2 || *signals[0].Fault != want[0] || *signals[1].Fault != want[1] {
		t.Errorf("a step that threw tells %+v", signals)
	}
	thrown.kind = kindClient
	if signals := told(t, thrown); len(signals) != 1 || signals[0].Fault != nil {
		t.Errorf("a call that failed tells %+v", signals)
	}
	answered := spanOf(kindServer, object{"error.type": "500"})
	answered.status = statusError
	if signals := told(t, answered); len(signals) != 1 || signals[0].Fault != nil {
		t.Errorf("a status code alone tells %+v", signals)
	}
	answered.message = "boom"
	answered.attributes = object{"error.type": "RangeError"}
	if f := told(t, answered)[0].Fault; f == nil || f.Name != "RangeError" || f.Message != "boom" || !f.At.Equal(ended) {
		t.Errorf("an answer that failed tells %+v", f)
	}
}

// TestLogs: lines with their request and level, in both encodings.
func TestLogs(t *testing.T) {
	t.Parallel()
	body := object{"msg": `say "hi"`}
	record := func(trace string) message {
		return message(nil).fixed(11, noon).varint(2, 17).sub(5, anyValue(body)).str(9, bytesOf(trace)).str(10, bytesOf(spanHex))
	}
	plain := message(nil).fixed(1, noon).str(3, "WARNING").sub(5, anyValue("password=hunter22"))
	asJSON := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[
		{"observedTimeUnixNano":"1800000000000000000","severityNumber":17,"traceId":"` + strings.ToUpper(traceHex) + `","spanId":"` + spanHex + `",
			"body":{"kvlistValue":{"values":[{"key":"msg","value":{"stringValue":"say \"hi\""}}]}}},
		{"timeUnixNano":1800000000000000000,"severityText":"WARNING","body":{"stringValue":"password=hunter22"}},
		{"traceId":"abcd","body":{"stringValue":"lost"}}]}]}]}`
	for media, sent := range map[string][]byte{
		mediaJSON:     []byte(asJSON),
		mediaProtobuf: protobufRequestOf(record(traceHex), plain, record("abcd")),
	} {
		var sink recorder
		w := post(t, NewReceiver(&sink), "/v1/logs", map[string]string{"Content-Type": media}, sent)
		if w.Code != http.StatusOK || len(sink.signals) != 2 {
			t.Fatalf("%s: %d %q, %d signals", media, w.Code, w.Body, len(sink.signals))
		}
		if media == mediaJSON && !strings.Contains(w.Body.String(), `"rejectedLogRecords":"1"`) {
			t.Errorf("the answer is %s", w.Body)
		}
		at := time.Unix(0, noon)
		first := capture.Log{
			At:    at,
			Level: "error",
			Text:  `{"msg":"say \"hi\""}`,
			From:  "otlp",
		}
		second := capture.Log{
			At:    at,
			Level: "warning",
			Text:  "password=hunter22",
			From:  "otlp",
		}
		if *sink.signals[0].Log != first || *sink.signals[1].Log != second {
			t.Errorf("%s: lines are %+v and %+v", media, sink.signals[0].Log, sink.signals[1].Log)
		}
		if s := sink.signals[0]; s.Parent != capture.SpanID([]byte(bytesOf(spanHex))) || s.Trace == (capture.TraceID{}) || s.Span != (capture.SpanID{}) {
			t.Errorf("%s: the line belongs to %+v", media, s)
		}
	}
}

// TestWrongIDs: a span whose ids have a wrong length is left out and counted; the others are taken.
func TestWrongIDs(t *testing.T) {
	t.Parallel()
	var spans []testSpan
	for _, change := range []func(s *testSpan){
		func(s *testSpan) { s.trace = "abcd" },
		func(s *testSpan) { s.trace = "" },
		func(s *testSpan) { s.trace = strings.Repeat("0", 32) },
		func(s *testSpan) { s.id = traceHex },
		func(s *testSpan) { s.id = "no hexadecimals" },
		func(s *testSpan) { s.parent = "ab" },
		func(*testSpan) {},
	} {
		s := spanOf(1, nil)
		change(&s)
		spans = append(spans, s)
	}
	for media, body := range tracesIn(t, spans...) {
		var sink recorder
		w := post(t, NewReceiver(&sink), "/v1/traces", map[string]string{"Content-Type": media}, body)
		if w.Code != http.StatusOK || len(sink.signals) != 1 {
			t.Fatalf("%s: %d, %d signals", media, w.Code, len(sink.signals))
		}
		if media == mediaJSON {
			if !strings.HasPrefix(w.Body.String(), `{"partialSuccess":{"errorMessage":"ids have a wrong length`) ||
				!strings.Contains(w.Body.String(), `"rejectedSpans":"6"`) {
				t.Errorf("the answer is %s", w.Body)
			}
			continue
		}
		var rejected uint64
		p := &protobuf{}
		p.fields(w.Body.Bytes(), func(f field) {
			p.fields(f.bytes, func(f field) {
				if f.number == 1 {
					rejected = f.bits
				}
			})
		})
		if p.err != nil || rejected != 6 {
			t.Errorf("the answer counts %d: %v", rejected, p.err)
		}
	}
}

// TestRefusals: what cannot be taken is answered with words, in the encoding of the request.
func TestRefusals(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"resourceSpans":[`, 20_000)
	for name, c := range map[string]struct {
		header map[string]string
		body   []byte
		status int
		says   string
	}{
		"rubbish":           {map[string]string{"Content-Type": mediaProtobuf}, []byte("GET / HTTP/1.1"), 400, "not a protobuf message"},
		"cut":               {map[string]string{"Content-Type": mediaProtobuf}, tracesIn(t, spanOf(1, nil))[mediaProtobuf][:60], 400, "unexpected EOF"},
		"rubbish as JSON":   {map[string]string{"Content-Type": mediaJSON}, []byte("<html>"), 400, `"message":"the body cannot be read as JSON`},
		"an array":          {map[string]string{"Content-Type": mediaJSON}, []byte("[]"), 400, "must be a JSON object"},
		"nothing":           {map[string]string{"Content-Type": mediaJSON}, nil, 400, "cannot be read as JSON"},
		"cut JSON":          {map[string]string{"Content-Type": mediaJSON}, tracesIn(t, spanOf(1, nil))[mediaJSON][:60], 400, "unexpected EOF"},
		"more behind":       {map[string]string{"Content-Type": mediaJSON}, []byte(`{} {}`), 400, "more follows"},
		"deep":              {map[string]string{"Content-Type": mediaJSON}, []byte(deep), 400, "depth"},
		"9 MiB":             {map[string]string{"Content-Type": mediaJSON}, make([]byte, 9<<20), 413, "more than 8 MiB; send smaller batches"},
		"a bomb":            {map[string]string{"Content-Type": mediaProtobuf, "Content-Encoding": "gzip"}, bomb(t, 0), 413, "more than 32 MiB after decompression"},
		"a bomb as JSON":    {map[string]string{"Content-Type": mediaJSON, "Content-Encoding": "gzip"}, bomb(t, ' '), 413, "more than 32 MiB after decompression"},
		"no gzip":           {map[string]string{"Content-Type": mediaJSON, "Content-Encoding": "gzip"}, []byte("{}"), 400, "not compressed by gzip"},
		"broken gzip":       {map[string]string{"Content-Type": mediaJSON, "Content-Encoding": "gzip"}, zipped(t, []byte("{}"))[:12], 400, "unexpected EOF"},
		"other compression": {map[string]string{"Content-Type": mediaJSON, "Content-Encoding": "br"}, []byte("{}"), 415, `compressed by \"br\"`},
		"text":              {map[string]string{"Content-Type": "text/plain"}, []byte("{}"), 415, "content type must be"},
		"no type":           {nil, []byte("{}"), 415, "content type must be"},
	} {
		w := post(t, NewReceiver(&recorder{}), "/v1/traces", c.header, c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %q, want %d with %q", name, w.Code, w.Body, c.status, c.says)
		}
		if media := c.header["Content-Type"]; c.status != 415 && w.Header().Get("Content-Type") != media {
			t.Errorf("%s: answered as %s, asked as %s", name, w.Header().Get("Content-Type"), media)
		}
	}
	r := NewReceiver(&recorder{})
	if w := post(t, r, "/v1/profiles", nil, nil); w.Code != http.StatusNotFound {
		t.Errorf("another path is answered %d", w.Code)
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/traces", nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != http.MethodPost {
		t.Errorf("GET is answered %d, allowed is %q", w.Code, w.Header().Get("Allow"))
	}
}

func zipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(b)
	check.OK(t, err)
	check.OK(t, w.Close())
	return out.Bytes()
}

// bomb returns 33 MiB of one byte, compressed: as members, of which a gzip file may have several.
func bomb(t testing.TB, b byte) []byte {
	t.Helper()
	const members = 33
	member := zipped(t, bytes.Repeat([]byte{b}, 1<<20))
	return bytes.Repeat(member, members)
}

// TestAnswers: compressed bodies, and metrics, which are not read.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for media, body := range tracesIn(t, spanOf(1, nil)) {
		var sink recorder
		r := NewReceiver(&sink)
		header := map[string]string{"Content-Type": media + "; charset=utf-8", "Content-Encoding": "gzip"}
		w := post(t, r, "/v1/traces", header, zipped(t, body))
		empty := map[string]string{mediaJSON: "{}", mediaProtobuf: ""}[media]
		if w.Code != http.StatusOK || w.Body.String() != empty || len(sink.signals) != 1 {
			t.Errorf("%s: %d %q, %d signals", media, w.Code, w.Body, len(sink.signals))
		}
		w = post(t, r, "/v1/metrics", map[string]string{"Content-Type": media}, []byte("anything"))
		if w.Code != http.StatusOK || w.Body.String() != empty || len(sink.signals) != 1 {
			t.Errorf("metrics as %s: %d %q, %d signals", media, w.Code, w.Body, len(sink.signals))
		}
	}
}

// TestManySpans: 100,000 spans in one request, and values without end.
func TestManySpans(t *testing.T) {
	t.Parallel()
	const many = 100_000
	one := message(nil).str(1, bytesOf(traceHex)).str(2, bytesOf(spanHex)).str(5, "GET /users")
	spans := make([]message, many)
	for i := range spans {
		spans[i] = one
	}
	var sink recorder
	header := map[string]string{"Content-Type": mediaProtobuf}
	w := post(t, NewReceiver(&sink), "/v1/traces", header, protobufRequestOf(spans...))
	if w.Code != http.StatusOK || len(sink.signals) != many {
		t.Errorf("%d, %d signals", w.Code, len(sink.signals))
	}

	nested := anyValue("end")
	for range 1000 {
		nested = message(nil).sub(5, message(nil).sub(1, nested))
	}
	sink.signals = nil
	deep := message(nil).sub(5, nested)
	w = post(t, NewReceiver(&sink), "/v1/logs", header, protobufRequestOf(deep))
	if w.Code != http.StatusOK || len(sink.signals) != 1 || len(sink.signals[0].Log.Text) > 100 {
		t.Errorf("deep values: %d %+v", w.Code, sink.signals)
	}
	wide := message(nil).sub(5, anyValue(strings.Repeat("é", 1<<20)))
	sink.signals = nil
	w = post(t, NewReceiver(&sink), "/v1/logs", header, protobufRequestOf(wide))
	if text := sink.signals[0].Log.Text; w.Code != http.StatusOK || len(text) > capture.MaxSignalText || strings.Trim(text, "é") != "" {
		t.Errorf("a long line: %d, %d bytes, ends %q", w.Code, len(text), text[len(text)-3:])
	}
}
