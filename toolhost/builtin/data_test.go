package builtin

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"bareclaw/internal/plainjson"
	"bareclaw/internal/schema/value"
	"bareclaw/internal/testkit/check"
)

// values returns what a tool has made.
func values(t *testing.T, result map[string]any) []any {
	t.Helper()
	if result["count"] == json.Number("1") {
		return []any{result["data"]}
	}
	all, _ := result["data"].([]any)
	if json.Number(must(json.Marshal(len(all)))) != result["count"] {
		t.Errorf("%d values of %v", len(all), result["count"])
	}
	return all
}

func checkGenerated(t *testing.T, args, result map[string]any) {
	t.Helper()
	form := regexp.MustCompile(map[string]string{
		"name":      `^\pL+ [\pL']+$`,
		"firstName": `^\pL+$`,
		"lastName":  `^[\pL']+$`,
		"email":     `^[a-z.0-9]+@example\.(com|net|org)$`,
		"phone":     `^\+1-[2-8]\d\d-555-01\d\d$`,
		"uuid":      `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
		"date":      `^20\d\d-\d\d-\d\d$`,
		"boolean":   `^(true|false)$`,
		"number":    `^-?\d+(\.\d+)?$`,
		"word":      `^[a-z]+$`,
		"sentence":  `^[A-Z][a-z ]*\.$`,
		"paragraph": `^([A-Z][a-z ]*\.( |$))+$`,
		"url":       `^https://www\.example\.(com|net|org)/[a-z]+/\d+$`,
		"ipv4":      `^(192\.0\.2|198\.51\.100|203\.0\.113)\.\d+$`,
		"username":  `^[a-z_]+\d+$`,
		"password":  `^[!-~]+$`,
		"hexColor":  `^#[0-9A-F]{6}$`,
		"company":   `^[A-Z][a-z]+ [A-Z][a-z]+ [A-Za-z]+$`,
	}[args["type"].(string)])
	options, _ := args["options"].(map[string]any)
	different := map[string]bool{}
	for _, v := range values(t, result) {
		text, ok := v.(string)
		if !ok {
			text = string(must(plainjson.Marshal(v)))
		}
		different[text] = true
		if !form.MatchString(text) {
			t.Errorf("%s is not of the type", text)
		}
		if n, ok := v.(json.Number); ok {
			checkBounds(t, n, options)
		}
		if length, ok := options["length"]; ok {
			checkLength(t, args["type"].(string), text, length.(json.Number))
		}
	}
	if result["count"] == json.Number("200") && len(different) < 2 {
		t.Error("all values are equal")
	}
}

func checkBounds(t *testing.T, n json.Number, options map[string]any) {
	t.Helper()
	if low, ok := options["min"].(json.Number); ok && value.Compare(n, low) < 0 {
		t.Errorf("%s is less than %s", n, low)
	}
	if high, ok := options["max"].(json.Number); ok && value.Compare(n, high) > 0 {
		t.Errorf("%s is more than %s", n, high)
	}
	if len(options) == 0 && (value.Compare(n, "0") < 0 || value.Compare(n, "1000") > 0) {
		t.Errorf("%s is not from 0 to 1000", n)
	}
}

func checkLength(t *testing.T, kind, text string, length json.Number) {
	t.Helper()
	got := map[string]int{"password": len(text), "sentence": len(strings.Fields(text)), "paragraph": strings.Count(text, ".")}[kind]
	if want, _ := length.Int64(); int64(got) != want {
		t.Errorf("the length of %s is %d, want %d", text, got, want)
	}
}

// checkFitting checks the data against the schema with another implementation.
func checkFitting(t *testing.T, args, result map[string]any) {
	t.Helper()
	if raw, _ := args["schema"].(map[string]any); raw["$schema"] != nil {
		return // a draft that the other does not know; the case says what is wanted
	}
	var s jsonschema.Schema
	check.OK(t, json.Unmarshal(must(plainjson.Marshal(args["schema"])), &s))
	resolved, err := s.Resolve(nil)
	check.OK(t, err)
	for _, v := range values(t, result) {
		var plain any
		check.OK(t, json.Unmarshal(must(plainjson.Marshal(v)), &plain))
		if err := resolved.Validate(plain); err != nil {
			t.Errorf("%v: %v", v, err)
		}
	}
}

func checkEdgeCases(t *testing.T, args, result map[string]any) {
	t.Helper()
	var seen []any
	all, _ := result["cases"].([]any)
	if len(all) == 0 || json.Number(must(json.Marshal(len(all)))) != result["count"] {
		t.Errorf("%d cases of %v", len(all), result["count"])
	}
	for _, c := range all {
		c, _ := c.(map[string]any)
		if args["category"] != nil && c["category"] != args["category"] {
			t.Errorf("%v is of another category", c)
		}
		if c["description"] == "" || slices.Contains(seen, c["value"]) {
			t.Errorf("%v has no description, or is there twice", c)
		}
		seen = append(seen, c["value"])
	}
}
