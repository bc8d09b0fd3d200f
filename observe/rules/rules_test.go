package rules

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/observe/capture"
)

func TestAllRulesSayWhatTheyAre(t *testing.T) {
	var ids []string
	for _, r := range All() {
		ids = append(ids, r.ID)
		if r.Title == "" || r.Advice == "" || r.Check == nil || r.Category == "" || r.Severity == "" {
			t.Errorf("%s: a field is empty", r.ID)
		}
		if !strings.HasSuffix(r.Advice, ".") || strings.HasSuffix(r.Title, ".") {
			t.Errorf("%s: the title is a sentence, or the advice is none", r.ID)
		}
		if r.Needs == 0 && r.clears == nil {
			t.Errorf("%s: any request proves the contrary", r.ID)
		}
	}
	if !slices.IsSorted(ids) || len(slices.Compact(ids)) != len(All()) {
		t.Errorf("in no order: %q", ids)
	}
	const withSummary = 22
	if len(ids)+1 != withSummary || slices.Contains(ids, SecurityID) {
		t.Errorf("%d rules: %q", len(ids), ids)
	}
}

func TestNothingIsFoundInNothing(t *testing.T) {
	for _, s := range []*Subject{
		{Request: &capture.Request{}},
		after(&capture.Request{}),
		after(&capture.Request{}, &capture.Request{}),
		after(get("/items"), get("/items")),
	} {
		for _, r := range All() {
			if found := r.Check(s); len(found) > 0 {
				t.Errorf("%s: %v", r.ID, found)
			}
			r.Clean(s)
		}
	}
}

// TestNumbersAreConstants keeps the numbers that rules go by in one file.
func TestNumbersAreConstants(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || name == "constants.go" {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if _, isIndex := n.(*ast.IndexExpr); isIndex {
				return false
			}
			literal, isLiteral := n.(*ast.BasicLit)
			if !isLiteral || literal.Kind != token.INT && literal.Kind != token.FLOAT {
				return true
			}
			if literal.Value != "0" && literal.Value != "1" && name != "rules.go" {
				t.Errorf("%s: %s", files.Position(literal.Pos()), literal.Value)
			}
			return true
		})
	}
}

// FuzzRules holds that no rule panics, whatever a request is, and that what they say has one line.
func FuzzRules(f *testing.F) {
	f.Add("GET", "/items?token=[masked:9]", 500, "text/html", []byte("Error\n    at f (/a.js:1:2)"), "SELECT * FROM users", "sid=1; Path=/", uint8(255))
	f.Add("POST", "/api/a", 200, "application/json", []byte(`{"password":"[masked:12]","id":1,"email":"a@b.cd"}`), "/* c", "", uint8(3))
	f.Add("", "%zz?%zz=%zz&=&", -1, "", []byte(strings.Repeat("[", 20_000)), "\x00(((", "=;;=", uint8(0))
	f.Fuzz(func(t *testing.T, method, url string, status int, media string, body []byte, text, header string, evidence uint8) {
		r := &capture.Request{
			Method:   method,
			URL:      url,
			Endpoint: method,
			Status:   status,
			End:      capture.Complete,
			Took:     time.Duration(len(body)) * time.Second,
			Evidence: capture.Evidence(evidence),
			Logs:     []capture.Log{{Text: text}},
			Faults:   []capture.Fault{{Name: text, Message: header}},
		}
		r.Sent.Header = http.Header{"Origin": {header}}
		r.Received = capture.Message{
			Header: http.Header{
				"Set-Cookie":                       {header, text},
				"Access-Control-Allow-Origin":      {header},
				"Access-Control-Allow-Credentials": {"true"},
			},
			Media: media,
			Size:  int64(len(body)),
			Body:  body,
		}
		for i := range len(body) % 20 {
			r.Queries = append(r.Queries, capture.Query{
				Text:        text,
				Shape:       text[:min(i, len(text))],
				Table:       header,
				Rows:        len(body),
				ValuesKnown: evidence%2 == 0,
			})
		}
		again := *r
		s := earlier(after(get("/items"), &again, r), RunFigures{Requests: len(body)}, RunFigures{Requests: status})
		for _, rule := range All() {
			for _, m := range rule.Check(s) {
				if strings.ContainsAny(m.Description.Text, "\n\r\x1b\x00") {
					t.Errorf("%s says %q", rule.ID, m.Description.Text)
				}
				if _, err := json.Marshal(m.Description.Text); err != nil {
					t.Error(err)
				}
			}
			rule.Clean(s)
		}
	})
}

func BenchmarkRules(b *testing.B) {
	fields := "[" + strings.Repeat(person(6)+",", 400) + "1]"
	r := returnsJSON(fields)
	r.Queries = sameQueries(7, oneUser).Queries
	r.Logs = logs("GET /items 200", "password is required").Logs
	b.SetBytes(int64(len(fields)))
	for b.Loop() {
		s := after(r)
		for _, rule := range All() {
			rule.Check(s)
		}
	}
}
