package rules

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"bareclaw/observe/capture"
)

func parseJSON(text string) any {
	var d document
	return d.parse(&capture.Message{Media: "application/json", Body: []byte(text)})
}

func TestDocument(t *testing.T) {
	got := parseJSON(` {"a": "x\"\u00e9", "b": [1, null, {}], "c": {"d": true}} `)
	want := map[string]any{
		"a": `x"é`,
		"b": []any{other{}, nil, map[string]any{}},
		"c": map[string]any{"d": other{}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%#v", got)
	}
	deep := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	if parseJSON(deep) == nil {
		t.Error("deep JSON is none")
	}
	long := parseJSON("[" + strings.Repeat(`{"a":[1,2]},`, 500) + "0]")
	if list, _ := long.([]any); len(list) != PIIScanArrayLimit {
		t.Errorf("%d items", len(list))
	}
	for _, text := range []string{"", "{", `{"a"}`, `{"a":}`, `{"a":1,}`, "[1,]", "[1 2]", "[]]", `"a`, "{}{}", "<html>", deep[1:]} {
		if value := parseJSON(text); value != nil {
			t.Errorf("%q is %v", text, value)
		}
	}
}

func TestDocumentOfBodies(t *testing.T) {
	for name, m := range map[string]capture.Message{
		"cut":      {Media: "application/json", Body: []byte("{}"), Cut: true},
		"script":   {Media: "text/javascript", Body: []byte("var a")},
		"an image": {Media: "image/png", Body: []byte("{}")},
	} {
		var d document
		if value := d.parse(&m); value != nil {
			t.Errorf("%s: %v", name, value)
		}
	}
	for _, media := range []string{"application/problem+json", "text/html", ""} {
		var d document
		if d.parse(&capture.Message{Media: media, Body: []byte(" {}")}) == nil {
			t.Errorf("JSON as %q is none", media)
		}
	}
}

// FuzzDocument holds that all JSON is read, with its keys.
func FuzzDocument(f *testing.F) {
	f.Add(`{"a":[1,{"b":null}],"c":"\n"}`)
	f.Add(`[[[[[[[[{"a":"]"}]]]]]]]]`)
	f.Add(`{"a`)
	f.Fuzz(func(t *testing.T, text string) {
		got := parseJSON(text)
		var want any
		if json.Unmarshal([]byte(text), &want) != nil || want == nil || len(text) > capture.MaxBody {
			return
		}
		if got == nil {
			t.Fatalf("%q is no JSON", text)
		}
		object, isObject := want.(map[string]any)
		if isObject && size(got) != len(object) {
			t.Errorf("%q: %v", text, got)
		}
	})
}
