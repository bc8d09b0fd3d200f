package harness

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// Obj is a JSON object, as a request's body.
type Obj = map[string]any

// Code is an answer's stable word for what went wrong.
func (a Answer) Code() string { return a.Str("code") }

// Array returns a member that is an array of objects.
func (a Answer) Array(key string) []Answer {
	list, _ := a.JSON[key].([]any)
	all := make([]Answer, len(list))
	for i, v := range list {
		all[i].JSON, _ = v.(map[string]any)
		all[i].Body, _ = json.Marshal(v) // for messages
	}
	return all
}

// Number is a member that is a number; 0 when it is missing.
func (a Answer) Number(key string) float64 { n, _ := a.JSON[key].(float64); return n }

// Refused fails unless the answer is an error of the API with this status and
// code and a text for a person.
func (a Answer) Refused(t testing.TB, what string, status int, code string) {
	t.Helper()
	if a.Status != status || a.Code() != code || a.Str("error") == "" || len(a.JSON) < 2 {
		t.Errorf("%s: status %d, want %d %s with a text: %.500s", what, a.Status, status, code, a.Body)
	}
	if ct := a.Header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("%s: content type %q", what, ct)
	}
}

// Failed fails unless the answer is a failure of that code which says the words.
func (a Answer) Failed(t testing.TB, code string, words ...string) {
	t.Helper()
	if a.Str("state") != "failed" || !a.Flag("is_error") || a.Str("code") != code {
		t.Errorf("answer is %s, is_error %v, code %q, want a failure with code %q\n%s", a.Str("state"), a.Flag("is_error"), a.Str("code"), code, a.Body)
	}
	for _, w := range words {
		if !strings.Contains(a.Str("error"), w) || !strings.Contains(a.Str("text"), w) {
			t.Errorf("answer says %q (error %q), which lacks %q", a.Str("text"), a.Str("error"), w)
		}
	}
}

// An Answer is an HTTP response with its JSON body.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	JSON   map[string]any
}

// Str returns a member that is a text, or "".
func (a Answer) Str(key string) string { s, _ := a.JSON[key].(string); return s }

// Flag returns a member that is true or false, or false.
func (a Answer) Flag(key string) bool { b, _ := a.JSON[key].(bool); return b }

// Want fails unless the answer is the text, without an error.
func (a Answer) Want(t testing.TB, text string) {
	t.Helper()
	if a.Str("text") != text || a.Flag("is_error") {
		t.Errorf("answer is %q (is_error %v), want %q\n%s", a.Str("text"), a.Flag("is_error"), text, a.Body)
	}
}
