package builtin

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/core/tools"
	"bareclaw/internal/plainjson"
	"bareclaw/internal/schema/value"
)

func transformTools() []tools.Tool {
	return []tools.Tool{
		define("base64_encode", "Encode a text as base64, or decode base64. Decoding also takes the URL alphabet, and padding may be left out.", base64Args{Action: "encode"}, convertBase64),
		define("json_format", "Format, minify or validate JSON. Numbers, strings and the order of members stay as they are written.", jsonArgs{Action: "format", Indent: 2}, formatJSON),
		define("object_diff", "Compare two objects and list what differs, with paths such as user.tags[0]. Numbers are compared exactly.", objectArgs{Deep: true}, diffObjects),
		random(define("array_operations", "Work on arrays: unique, flatten, chunk, intersection, difference, union, shuffle, reverse or sort. Elements are compared by value; numbers are sorted as numbers.", arrayArgs{ChunkSize: 2}, operateArray)),
	}
}

type base64Args struct {
	Text   string `json:"text"`
	Action string `json:"action,omitempty" enum:"encode,decode"`
}

type base64Result struct {
	Result *string `json:"result,omitempty" jsonschema:"absent if the decoded bytes are no UTF-8 text"`
	Hex    string  `json:"hex,omitempty" jsonschema:"the decoded bytes, if they are no UTF-8 text"`
}

func convertBase64(_ context.Context, in base64Args) (base64Result, error) {
	if in.Action == "encode" {
		return base64Result{Result: new(base64.StdEncoding.EncodeToString([]byte(in.Text)))}, nil
	}
	b, err := decodeBase64(in.Text)
	switch {
	case err != nil:
		return base64Result{}, fmt.Errorf("text: it is not base64: %w", err)
	case !utf8.Valid(b):
		return base64Result{Hex: hex.EncodeToString(b)}, nil
	default:
		return base64Result{Result: new(string(b))}, nil
	}
}

// decodeBase64 refuses what JavaScript passes over: foreign characters, too much or too little
// padding, and bits behind the last byte.
func decodeBase64(text string) ([]byte, error) {
	text = strings.TrimSpace(text)
	encoding := base64.StdEncoding
	if strings.ContainsAny(text, "-_") {
		encoding = base64.URLEncoding
	}
	if !strings.HasSuffix(text, "=") {
		encoding = encoding.WithPadding(base64.NoPadding)
	}
	return encoding.Strict().DecodeString(text)
}

type jsonArgs struct {
	JSON   string `json:"json"`
	Action string `json:"action,omitempty" enum:"format,minify,validate"`
	Indent int    `json:"indent,omitempty" jsonschema:"spaces for each level; 0 minifies" min:"0" max:"10"`
}

type jsonResult struct {
	Valid  bool    `json:"valid"`
	Result *string `json:"result,omitempty" jsonschema:"absent for validate"`
	Error  string  `json:"error,omitempty"`
	Line   int     `json:"line,omitempty" jsonschema:"of the error, from 1"`
	Column int     `json:"column,omitempty" jsonschema:"of the error, in characters from 1"`
}

func formatJSON(_ context.Context, in jsonArgs) (jsonResult, error) {
	options := jsonOptions()
	if in.Action == "format" && in.Indent > 0 {
		if in.indentsTooMuch() {
			return jsonResult{}, fmt.Errorf("json: %w; minify it", errTooLarge)
		}
		options = append(options, jsontext.WithIndent(strings.Repeat(" ", in.Indent)))
	}
	text := jsontext.Value(in.JSON)
	err := text.Format(options...)
	var syntax *jsontext.SyntacticError
	switch {
	case err == nil && in.Action == "validate":
		return jsonResult{Valid: true}, nil
	case err == nil:
		return jsonResult{Valid: true, Result: new(string(text))}, nil
	case !errors.As(err, &syntax):
		return jsonResult{}, fmt.Errorf("json: %w", err)
	}
	before := in.JSON[:syntax.ByteOffset]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	if in.Action == "validate" {
		return jsonResult{Error: syntax.Err.Error(), Line: line, Column: column}, nil
	}
	return jsonResult{}, fmt.Errorf("json: line %d, column %d: %w", line, column, syntax.Err)
}

// jsonOptions accept what JSON.parse accepts, and leave strings as they are written, as numbers are
// anyway.
func jsonOptions() []jsontext.Options {
	return []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true)}
}

// indentsTooMuch reports whether deep nesting would make a text of gigabytes.
func (in jsonArgs) indentsTooMuch() bool {
	decoder := jsontext.NewDecoder(strings.NewReader(in.JSON), jsonOptions()...)
	for size := len(in.JSON); size <= maxResult; size += decoder.StackDepth() * in.Indent {
		if _, err := decoder.ReadToken(); err != nil {
			return false
		}
	}
	return true
}

type objectArgs struct {
	Expected map[string]any `json:"expected"`
	Actual   map[string]any `json:"actual"`
	Deep     bool           `json:"deep,omitempty" jsonschema:"whether to say what differs in nested objects and arrays, or only which members differ"`
}

type objectDiff struct {
	Identical bool         `json:"identical"`
	Count     int          `json:"count" jsonschema:"how many differences there are"`
	Diffs     []memberDiff `json:"diffs" jsonschema:"the first 1000 differences"`
}

type memberDiff struct {
	Path     string `json:"path"`
	Type     string `json:"type" enum:"added,removed,changed"`
	Expected *any   `json:"expected,omitempty" jsonschema:"absent if added"`
	Actual   *any   `json:"actual,omitempty" jsonschema:"absent if removed"`
}

func diffObjects(_ context.Context, in objectArgs) (objectDiff, error) {
	out := objectDiff{Diffs: []memberDiff{}}
	out.compareObjects("", in.Expected, in.Actual, in.Deep)
	out.Identical = out.Count == 0
	return out, nil
}

func (d *objectDiff) add(path, kind string, expected, actual *any) {
	d.Count++
	if len(d.Diffs) < maxListed {
		d.Diffs = append(d.Diffs, memberDiff{path, kind, expected, actual})
	}
}

// compare adds the differences of two values.
func (d *objectDiff) compare(path string, expected, actual any, deep bool) {
	switch e := expected.(type) {
	case map[string]any:
		if a, ok := actual.(map[string]any); ok && deep {
			d.compareObjects(path, e, a, deep)
			return
		}
	case []any:
		if a, ok := actual.([]any); ok && deep {
			d.compareArrays(path, e, a)
			return
		}
	}
	if !value.Equal(expected, actual) {
		d.add(path, "changed", &expected, &actual)
	}
}

func (d *objectDiff) compareObjects(path string, expected, actual map[string]any, deep bool) {
	all := maps.Clone(expected)
	maps.Copy(all, actual)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		e, inExpected := expected[name]
		a, inActual := actual[name]
		switch at := memberPath(path, name); {
		case !inExpected:
			d.add(at, "added", nil, &a)
		case !inActual:
			d.add(at, "removed", &e, nil)
		default:
			d.compare(at, e, a, deep)
		}
	}
}

func (d *objectDiff) compareArrays(path string, expected, actual []any) {
	for i := range max(len(expected), len(actual)) {
		switch at := path + "[" + strconv.Itoa(i) + "]"; {
		case i >= len(expected):
			d.add(at, "added", nil, &actual[i])
		case i >= len(actual):
			d.add(at, "removed", &expected[i], nil)
		default:
			d.compare(at, expected[i], actual[i], true)
		}
	}
}

var identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL_$][\pL\pN_$]*$`) })

// memberPath returns the path of a member as JavaScript writes it.
func memberPath(path, name string) string {
	switch {
	case !identifier().MatchString(name):
		return path + "[" + string(must(plainjson.Marshal(name))) + "]"
	case path == "":
		return name
	default:
		return path + "." + name
	}
}

type arrayArgs struct {
	Operation string `json:"operation" enum:"unique,flatten,chunk,intersection,difference,union,shuffle,reverse,sort"`
	Array     []any  `json:"array"`
	Array2    []any  `json:"array2,omitempty" jsonschema:"the other array of intersection, difference and union"`
	ChunkSize int    `json:"chunkSize,omitempty" min:"1"`
}

type arrayResult struct {
	Result []any `json:"result"`
	Length int   `json:"length"`
}

func operateArray(_ context.Context, in arrayArgs) (arrayResult, error) {
	switch in.Operation {
	case "intersection", "difference", "union":
		if in.Array2 == nil {
			return arrayResult{}, fmt.Errorf("array2: %s needs a second array", in.Operation)
		}
	}
	result := []any{}
	switch in.Operation {
	case "unique":
		result = unique(in.Array)
	case "union":
		result = unique(slices.Concat(in.Array, in.Array2))
	case "intersection":
		result = unique(filter(in.Array, in.Array2, true))
	case "difference":
		result = filter(in.Array, in.Array2, false)
	case "flatten":
		result = flatten(result, in.Array)
	case "chunk":
		for part := range slices.Chunk(in.Array, in.ChunkSize) {
			result = append(result, part)
		}
	case "shuffle":
		result = in.Array
		rand.Shuffle(len(result), func(i, j int) { result[i], result[j] = result[j], result[i] })
	case "reverse":
		result = in.Array
		slices.Reverse(result)
	case "sort":
		result = sorted(in.Array)
	}
	return arrayResult{result, len(result)}, nil
}

func flatten(to, values []any) []any {
	for _, v := range values {
		if nested, ok := v.([]any); ok {
			to = flatten(to, nested)
		} else {
			to = append(to, v)
		}
	}
	return to
}

// unique returns the first of equal values each.
func unique(values []any) []any {
	seen := map[string]bool{}
	return slices.DeleteFunc(values, func(v any) bool {
		key := value.Key(v)
		again := seen[key]
		seen[key] = true
		return again
	})
}

// filter returns the values that are, or are not, in others.
func filter(values, others []any, in bool) []any {
	known := map[string]bool{}
	for _, v := range others {
		known[value.Key(v)] = true
	}
	return slices.DeleteFunc(values, func(v any) bool { return known[value.Key(v)] != in })
}

// sorted returns the values in order: null, false, true, numbers by value, texts by code point,
// then arrays and objects by their JSON.
func sorted(values []any) []any {
	type keyed struct {
		value  any
		rank   int
		number json.Number
		text   string
	}
	all := make([]keyed, len(values))
	for i, v := range values {
		k := keyed{value: v, rank: rank(v)}
		switch v := v.(type) {
		case json.Number:
			k.number = v
		case string:
			k.text = v
		case []any, map[string]any:
			k.text = value.Key(v)
		}
		all[i] = k
	}
	slices.SortStableFunc(all, func(a, b keyed) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), value.Compare(a.number, b.number), strings.Compare(a.text, b.text))
	})
	out := make([]any, len(all))
	for i, k := range all {
		out[i] = k.value
	}
	return out
}

func rank(v any) int {
	switch v := v.(type) {
	case nil:
		return 0
	case bool:
		if v {
			return 2
		}
		return 1
	case json.Number:
		return 3
	case string:
		return 4
	case []any:
		return 5
	default:
		return 6
	}
}
