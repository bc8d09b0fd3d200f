package openapi

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

const document = `
openapi: 3.0.3
info: {title: t, version: "1"}
paths:
  /things/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get:
      responses:
        "200":
          description: a thing
          headers:
            Location: {required: true, schema: {type: string, pattern: "^/things/"}}
          content:
            application/json: {schema: {type: object, required: [n], properties: {n: {type: integer}}}}
            text/event-stream: {schema: {type: string}, x-events: {bad: Error}}
        "404":
          description: none
          content: {application/json: {schema: {$ref: "#/components/schemas/Error"}}}
components:
  schemas:
    Error: {type: object, required: [error], properties: {error: {type: string}}}
`

// A listener collects what would fail the test.
type listener struct {
	testing.TB
	complaints []string
}

func (l *listener) Errorf(format string, args ...any) {
	l.complaints = append(l.complaints, fmt.Sprintf(format, args...))
}

type canned struct {
	status  int
	headers map[string]string
	body    string
}

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: c.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(c.body))}
	for name, value := range c.headers {
		resp.Header.Set(name, value)
	}
	return resp, nil
}

func TestRecorderComplains(t *testing.T) {
	t.Parallel()
	plain := map[string]string{"Content-Type": "application/json"}
	thing := map[string]string{"Content-Type": "application/json", "Location": "/things/1"}
	events := map[string]string{"Content-Type": "text/event-stream", "Location": "/things/1"}
	for _, c := range []struct {
		name, method, path string
		answer             canned
		complaint          string // empty: none
	}{
		{"as documented", "GET", "/things/a%2Fb", canned{200, thing, `{"n":1}`}, ""},
		{"wrong type", "GET", "/things/1", canned{200, thing, `{"n":"1"}`}, "integer"},
		{"unnamed member", "GET", "/things/1", canned{200, thing, `{"n":1,"x":2}`}, `"x"`},
		{"not JSON", "GET", "/things/1", canned{200, thing, `<html>`}, "invalid character"},
		{"header missing", "GET", "/things/1", canned{200, plain, `{"n":1}`}, "Location is missing"},
		{"header wrong", "GET", "/things/1", canned{200, map[string]string{"Content-Type": "application/json", "Location": "x"}, `{"n":1}`}, "header Location"},
		{"content type", "GET", "/things/1", canned{200, map[string]string{"Content-Type": "text/html", "Location": "/things/1"}, ``}, "text/html"},
		{"status", "GET", "/things/1", canned{500, plain, `{"error":"x"}`}, "the status is not documented"},
		{"event", "GET", "/things/1", canned{200, events, "event: bad\ndata: {\"error\":\"x\"}\n\n"}, ""},
		{"event data", "GET", "/things/1", canned{200, events, "event: bad\ndata: {}\n\n"}, `"error" is missing`},
		{"event name", "GET", "/things/1", canned{200, events, "event: worse\ndata: {}\n\n"}, `event "worse" is not documented`},
		{"unknown route answers", "GET", "/other", canned{200, plain, `{}`}, "the route is not documented"},
		{"unknown route", "GET", "/other", canned{404, plain, `{"error":"x"}`}, ""},
		{"unknown route in HTML", "GET", "/other", canned{404, map[string]string{"Content-Type": "text/html"}, `{"error":"x"}`}, "content type"},
		{"unknown method", "PUT", "/things/1", canned{405, map[string]string{"Content-Type": "application/json", "Allow": "GET"}, `{"error":"x"}`}, ""},
		{"unknown method without Allow", "PUT", "/things/1", canned{405, plain, `{"error":"x"}`}, "Allow"},
		{"unknown method is not found", "PUT", "/things/1", canned{404, plain, `{"error":"x"}`}, "a documented path is not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := &listener{TB: t}
			resp := send(t, New(l, []byte(document), c.answer), c.method, c.path)
			if got, err := io.ReadAll(resp.Body); err != nil || string(got) != c.answer.body {
				t.Errorf("the body became %q, %v", got, err)
			}
			switch all := strings.Join(l.complaints, "\n"); {
			case c.complaint == "" && all != "":
				t.Errorf("it complains: %s", all)
			case c.complaint != "" && !strings.Contains(all, c.complaint):
				t.Errorf("got %q, want %q", all, c.complaint)
			}
		})
	}
}

func TestRecorderKnowsWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := New(t, []byte(document), canned{200, map[string]string{"Content-Type": "application/json", "Location": "/things/1"}, `{"n":1}`})
	if got, want := r.Operations(), []string{"GET /things/{id}"}; !slices.Equal(got, want) {
		t.Errorf("operations %q, want %q", got, want)
	}
	send(t, r, "GET", "/things/1")
	if got, want := r.Uncovered(), []string{"GET /things/{id} 404"}; !slices.Equal(got, want) {
		t.Errorf("uncovered %q, want %q", got, want)
	}
	send(t, r.With(canned{404, map[string]string{"Content-Type": "application/json"}, `{"error":"x"}`}), "GET", "/things/1")
	if got := r.Uncovered(); len(got) != 0 {
		t.Errorf("uncovered %q", got)
	}
}

func send(t *testing.T, r *Recorder, method, path string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, http.NoBody)
	check.OK(t, err)
	resp, err := r.RoundTrip(req)
	check.OK(t, err)
	return resp
}
