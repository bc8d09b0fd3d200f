// Package openapi holds answers of the HTTP API against its OpenAPI
// document, in tests: whatever the document does not say fails the test, and
// what it says but no request provoked can be listed.
package openapi

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"
)

// A Recorder is a RoundTripper that checks every answer that passes through it.
// It is safe for concurrent use.
type Recorder struct {
	t    testing.TB
	doc  *openapi3.T
	next http.RoundTripper
	seen *seen
}

// A seen is the set of answers that were provoked, such as "POST /message 200".
type seen struct {
	mu  sync.Mutex
	set map[string]bool
}

// New returns a Recorder in front of next (nil: http.DefaultTransport). It fails
// the test when the document itself is not valid. For the check no object may
// have members that the document does not name, unless it says so.
func New(t testing.TB, document []byte, next http.RoundTripper) *Recorder {
	t.Helper()
	doc, err := load(string(document))
	if err != nil {
		t.Fatalf("load OpenAPI document: %v", err)
	}
	if next == nil {
		next = http.DefaultTransport
	}
	return &Recorder{t: t, doc: doc, next: next, seen: &seen{set: map[string]bool{}}}
}

// documents has the loaded documents by their text: loading takes longer than most tests.
var documents struct {
	mu     sync.Mutex // protects loaded
	loaded map[string]*openapi3.T
}

// load returns a valid document whose responses have only named members.
func load(text string) (*openapi3.T, error) {
	documents.mu.Lock()
	defer documents.mu.Unlock()
	if doc := documents.loaded[text]; doc != nil {
		return doc, nil
	}
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData([]byte(text))
	if err == nil {
		err = doc.Validate(loader.Context)
	}
	if err != nil {
		return nil, err
	}
	closeResponses(doc)
	if documents.loaded == nil {
		documents.loaded = map[string]*openapi3.T{}
	}
	documents.loaded[text] = doc
	return doc, nil
}

// With returns a Recorder in front of another transport. Both count what is
// covered together.
func (r *Recorder) With(next http.RoundTripper) *Recorder {
	return &Recorder{t: r.t, doc: r.doc, next: next, seen: r.seen}
}

// closeResponses forbids unnamed members in every response.
func closeResponses(doc *openapi3.T) {
	done := map[*openapi3.Schema]bool{}
	for _, ref := range doc.Components.Schemas {
		closeSchema(ref, done)
	}
	each(doc, func(_, _, _ string, resp *openapi3.Response) {
		for _, media := range resp.Content {
			closeSchema(media.Schema, done)
		}
	})
}

func closeSchema(ref *openapi3.SchemaRef, done map[*openapi3.Schema]bool) {
	if ref == nil || ref.Value == nil || done[ref.Value] {
		return
	}
	s := ref.Value
	done[s] = true
	if s.Type.Is("object") && s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
		no := false
		s.AdditionalProperties.Has = &no
	}
	for _, p := range s.Properties {
		closeSchema(p, done)
	}
	closeSchema(s.Items, done)
}

// each calls f for every documented answer.
func each(doc *openapi3.T, f func(method, path, status string, resp *openapi3.Response)) {
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status, resp := range op.Responses.Map() {
				f(method, path, status, resp.Value)
			}
		}
	}
}

// Client returns a client that sends through the Recorder.
func (r *Recorder) Client() *http.Client { return &http.Client{Transport: r} }

// Operations returns every documented operation, such as "POST /message".
func (r *Recorder) Operations() []string {
	var ops []string
	for path, item := range r.doc.Paths.Map() {
		for method := range item.Operations() {
			ops = append(ops, method+" "+path)
		}
	}
	slices.Sort(ops)
	return ops
}

// Uncovered returns the documented answers that no request has provoked, sorted,
// such as "POST /message 429".
func (r *Recorder) Uncovered() []string {
	r.seen.mu.Lock()
	defer r.seen.mu.Unlock()
	var missing []string
	each(r.doc, func(method, path, status string, _ *openapi3.Response) {
		if what := method + " " + path + " " + status; !r.seen.set[what] {
			missing = append(missing, what)
		}
	})
	slices.Sort(missing)
	return missing
}

// RoundTrip sends the request and checks the answer. JSON is checked at once, a
// stream as it is read.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if req.Method == http.MethodHead {
		return resp, r.checkHead(req, resp)
	}
	path, op, known := r.find(req, req.Method)
	name := fmt.Sprintf("%s %s %d", req.Method, path, resp.StatusCode)
	switch {
	case !known:
		return resp, r.checkUnknown(name, path, resp)
	case op.Responses.Value(strconv.Itoa(resp.StatusCode)) == nil:
		r.t.Errorf("%s (%s): the status is not documented: %s", name, req.URL.EscapedPath(), peek(resp))
		return resp, nil
	}
	r.seen.mu.Lock()
	r.seen.set[name] = true
	r.seen.mu.Unlock()
	return resp, r.check(name, resp, op.Responses.Value(strconv.Itoa(resp.StatusCode)).Value)
}

// checkHead holds an answer without a body to what the document says of GET. It does
// not count as provoked.
func (r *Recorder) checkHead(req *http.Request, resp *http.Response) error {
	path, op, known := r.find(req, http.MethodGet)
	name := fmt.Sprintf("HEAD %s %d", path, resp.StatusCode)
	switch documented := known && op.Responses.Value(strconv.Itoa(resp.StatusCode)) != nil; {
	case documented, resp.StatusCode == http.StatusMethodNotAllowed && !known && resp.Header.Get("Allow") != "",
		resp.StatusCode == http.StatusNotFound && path == "", resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
	default:
		r.t.Errorf("%s: the status is not documented for GET", name)
	}
	body, err := io.ReadAll(resp.Body)
	if len(body) > 0 {
		r.t.Errorf("%s: the answer has a body: %s", name, short(body))
	}
	return err
}

// find returns the documented path of a request, and the operation that the path has for the
// method. A path without that method is returned with known false.
func (r *Recorder) find(req *http.Request, method string) (path string, op *openapi3.Operation, known bool) {
	segments := strings.Split(req.URL.EscapedPath(), "/")
	for template, item := range r.doc.Paths.Map() {
		parts := strings.Split(template, "/")
		match := slices.EqualFunc(parts, segments, func(part, segment string) bool {
			return part == segment || strings.HasPrefix(part, "{") && segment != ""
		})
		if match {
			op := item.GetOperation(method)
			return template, op, op != nil
		}
	}
	return "", nil, false
}

// checkUnknown holds what every API must say of a path or a method it has not.
func (r *Recorder) checkUnknown(name, path string, resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
	case http.StatusMethodNotAllowed:
		if path == "" || resp.Header.Get("Allow") == "" {
			r.t.Errorf("%s: a 405 is for known paths, with Allow", name)
		}
	case http.StatusNotFound:
		if path != "" {
			r.t.Errorf("%s: a documented path is not found", name)
		}
	default:
		r.t.Errorf("%s: the route is not documented: %s", name, peek(resp))
		return nil
	}
	return r.checkJSON(name, resp, r.doc.Components.Schemas["Error"].Value)
}

func (r *Recorder) check(name string, resp *http.Response, want *openapi3.Response) error {
	for header, ref := range want.Headers {
		value := resp.Header.Get(header)
		if value == "" {
			if ref.Value.Required {
				r.t.Errorf("%s: the header %s is missing", name, header)
			}
			continue
		}
		if err := checkHeader(ref.Value.Schema.Value, value); err != nil {
			r.t.Errorf("%s: header %s: %v", name, header, err)
		}
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // empty when it is none
	if media == "" && len(want.Content) == 0 {
		return nil
	}
	content := want.Content.Get(media)
	if content == nil {
		r.t.Errorf("%s: content type %q is not documented", name, resp.Header.Get("Content-Type"))
		return nil
	}
	switch media {
	case "application/json":
		return r.checkJSON(name, resp, content.Schema.Value)
	case "text/event-stream":
		events, _ := content.Extensions["x-events"].(map[string]any)
		resp.Body = &eventReader{ReadCloser: resp.Body, check: func(event, data string) {
			r.checkEvent(name, events, event, data)
		}}
	}
	return nil
}

func checkHeader(schema *openapi3.Schema, value string) error {
	if schema.Type.Is("integer") {
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return err
		}
		return schema.VisitJSON(n)
	}
	return schema.VisitJSON(value)
}

func (r *Recorder) checkJSON(name string, resp *http.Response, schema *openapi3.Schema) error {
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if got := resp.Header.Get("Content-Type"); got != "application/json" {
		r.t.Errorf("%s: content type %q", name, got)
	}
	if err := checkValue(body, schema); err != nil {
		r.t.Errorf("%s: %v\n%s", name, err, short(body))
	}
	return nil
}

func (r *Recorder) checkEvent(name string, events map[string]any, event, data string) {
	schema, ok := events[event].(string)
	if !ok {
		r.t.Errorf("%s: event %q is not documented", name, event)
		return
	}
	ref := r.doc.Components.Schemas[schema]
	if ref == nil {
		r.t.Errorf("%s: event %q: there is no schema %q", name, event, schema)
		return
	}
	if err := checkValue([]byte(data), ref.Value); err != nil {
		r.t.Errorf("%s: event %q: %v\n%s", name, event, err, short([]byte(data)))
	}
}

func checkValue(doc []byte, schema *openapi3.Schema) error {
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		return err
	}
	return schema.VisitJSON(v, openapi3.VisitAsResponse(), openapi3.MultiErrors(), openapi3.EnableFormatValidation())
}

func peek(resp *http.Response) string {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 500)) // only for the message
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
	return string(body)
}

func short(b []byte) string { return string(b[:min(len(b), 1000)]) }
