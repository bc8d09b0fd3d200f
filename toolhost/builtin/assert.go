package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"bareclaw/core/tools"
	"bareclaw/internal/schema"
	"bareclaw/internal/schema/value"
)

func assertTools() []tools.Tool {
	return []tools.Tool{
		define("assert_equals", "Assert that two values are equal, arrays and objects member by member. Numbers are compared exactly, also beyond 2^53.", equalsArgs{Strict: true}, assertEquals),
		define("assert_contains", "Assert that a text contains another one.", containsArgs{}, assertContains),
		define("assert_truthy", "Assert that a value is truthy in JavaScript: not false, 0, \"\" or null.", truthyArgs{}, assertTruthy),
		define("assert_type", "Assert that a value has a type.", typeArgs{}, assertType),
		define("assert_range", "Assert that a number lies between two others, or is one of them.", rangeArgs{}, assertRange),
		define("assert_json_schema", "Assert that a value fits a JSON Schema of the drafts 4 to 2020-12.", schemaArgs{}, assertSchema),
		define("json_validator", "Validate an object against a JSON Schema of the drafts 4 to 2020-12.", validatorArgs{}, validate),
	}
}

// An assertion is the result of a tool that asserts.
type assertion struct {
	Passed  bool   `json:"passed"`
	Message string `json:"message" jsonschema:"what was found, after the message that was given"`
}

// asserted returns the result of an assertion: found describes what holds, whether that is what
// was wanted or not.
func asserted(passed bool, given, found string) assertion {
	if given != "" {
		found = given + ": " + found
	}
	return assertion{passed, found}
}

type equalsArgs struct {
	Actual   any    `json:"actual" jsonschema:"any value"`
	Expected any    `json:"expected" jsonschema:"any value"`
	Strict   bool   `json:"strict,omitempty" jsonschema:"false compares as == of JavaScript does: 1 equals \"1\" and true"`
	Message  string `json:"message,omitempty" jsonschema:"what the assertion is about"`
}

type equalsResult struct {
	assertion
	Path string `json:"path,omitempty" jsonschema:"JSON pointer to the first difference; absent if the whole values differ"`
}

func assertEquals(_ context.Context, in equalsArgs) (equalsResult, error) {
	at, found := difference(nil, in.Actual, in.Expected, in.Strict)
	if found == "" {
		return equalsResult{assertion: asserted(true, in.Message, "the values are equal")}, nil
	}
	path := at.String()
	if path != "" {
		found = "at " + path + " " + found
	}
	return equalsResult{asserted(false, in.Message, found), path}, nil
}

// difference returns where two values differ first and how, or nothing.
func difference(at *value.Path, actual, expected any, strict bool) (_ *value.Path, found string) {
	switch want := expected.(type) {
	case []any:
		if got, ok := actual.([]any); ok {
			return itemDifference(at, got, want, strict)
		}
	case map[string]any:
		if got, ok := actual.(map[string]any); ok {
			return memberDifference(at, got, want, strict)
		}
	}
	if value.Equal(actual, expected) || !strict && looselyEqual(actual, expected) {
		return nil, ""
	}
	return at, fmt.Sprintf("is %s, expected %s", value.Brief(actual), value.Brief(expected))
}

func itemDifference(at *value.Path, got, want []any, strict bool) (_ *value.Path, found string) {
	for i := range min(len(got), len(want)) {
		if where, found := difference(at.Member(strconv.Itoa(i)), got[i], want[i], strict); found != "" {
			return where, found
		}
	}
	if len(got) != len(want) {
		return at, fmt.Sprintf("is an array of %d, expected one of %d", len(got), len(want))
	}
	return nil, ""
}

func memberDifference(at *value.Path, got, want map[string]any, strict bool) (_ *value.Path, found string) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		member, ok := got[name]
		if !ok {
			return at.Member(name), "is missing"
		}
		if where, found := difference(at.Member(name), member, want[name], strict); found != "" {
			return where, found
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			return at.Member(name), "is not expected"
		}
	}
	return nil, ""
}

// looselyEqual reports whether two values, of which at least one is neither an array nor an
// object, are equal with == of JavaScript.
func looselyEqual(a, b any) bool {
	if a == nil || b == nil {
		return a == b
	}
	_, aIsComposite := primitive(a)
	_, bIsComposite := primitive(b)
	if aIsComposite && bIsComposite {
		return false
	}
	a, _ = primitive(a)
	b, _ = primitive(b)
	s, aIsText := a.(string)
	t, bIsText := b.(string)
	if aIsText && bIsText {
		return s == t
	}
	m, aIsNumber := toNumber(a)
	n, bIsNumber := toNumber(b)
	return aIsNumber && bIsNumber && value.Compare(m, n) == 0
}

// primitive returns the text that JavaScript compares in place of an array or object.
func primitive(v any) (_ any, isComposite bool) {
	switch v.(type) {
	case []any, map[string]any:
		var b strings.Builder
		writeText(&b, v)
		return b.String(), true
	}
	return v, false
}

// writeText writes the text to which JavaScript converts a member of an array.
func writeText(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
	case []any:
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeText(b, e)
		}
	case map[string]any:
		b.WriteString("[object Object]")
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.ContainsAny(string(v), ".eE") {
			v = json.Number(must(json.Marshal(f))) // as JavaScript writes numbers
		}
		b.WriteString(string(v))
	default:
		fmt.Fprint(b, v)
	}
}

// toNumber returns the number to which JavaScript converts a value; false for NaN and infinity,
// which no JSON number equals.
func toNumber(v any) (json.Number, bool) {
	switch v := v.(type) {
	case json.Number:
		return v, true
	case bool:
		if v {
			return "1", true
		}
		return "0", true
	case string:
		return textToNumber(strings.TrimFunc(v, func(r rune) bool { return unicode.IsSpace(r) && r != '\u0085' || r == '\ufeff' }))
	}
	return "", false
}

func textToNumber(text string) (json.Number, bool) {
	if text == "" {
		return "0", true
	}
	if len(text) > 2 && text[0] == '0' && strings.ContainsRune("xXoObB", rune(text[1])) && !strings.ContainsAny(text, "_") {
		n, ok := new(big.Int).SetString(text, 0)
		return json.Number(fmt.Sprint(n)), ok
	}
	sign, digits := "", text
	switch text[0] {
	case '-':
		sign, digits = "-", text[1:]
	case '+':
		digits = text[1:]
	}
	// JavaScript has 1. and .5 and 007, JSON has not.
	whole, exponent, hasExponent := strings.Cut(strings.ToLower(digits), "e")
	whole, fraction, _ := strings.Cut(whole, ".")
	if whole == "" && fraction == "" {
		return "", false
	}
	n := sign + cmp.Or(strings.TrimLeft(whole, "0"), "0") + "." + fraction + "0"
	if hasExponent {
		n += "e" + exponent
	}
	return json.Number(n), json.Valid([]byte(n))
}

type containsArgs struct {
	Text          string `json:"text"`
	Substring     string `json:"substring"`
	CaseSensitive bool   `json:"caseSensitive,omitempty"`
	Message       string `json:"message,omitempty" jsonschema:"what the assertion is about"`
}

func assertContains(_ context.Context, in containsArgs) (assertion, error) {
	text, substring := in.Text, in.Substring
	if !in.CaseSensitive {
		text, substring = strings.Map(foldCase, text), strings.Map(foldCase, substring)
	}
	if strings.Contains(text, substring) {
		return asserted(true, in.Message, "the text contains "+value.Brief(in.Substring)), nil
	}
	return asserted(false, in.Message, value.Brief(in.Text)+" does not contain "+value.Brief(in.Substring)), nil
}

// foldCase returns the same character for all that differ in case alone, such as σ, ς and Σ.
func foldCase(r rune) rune {
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	return least
}

type truthyArgs struct {
	Value   any    `json:"value" jsonschema:"any value"`
	Message string `json:"message,omitempty" jsonschema:"what the assertion is about"`
}

func assertTruthy(_ context.Context, in truthyArgs) (assertion, error) {
	if isTruthy(in.Value) {
		return asserted(true, in.Message, value.Brief(in.Value)+" is truthy"), nil
	}
	return asserted(false, in.Message, value.Brief(in.Value)+" is not truthy"), nil
}

func isTruthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case json.Number:
		return value.Compare(v, "0") != 0
	}
	return true
}

type typeArgs struct {
	Value        any    `json:"value" jsonschema:"any value"`
	ExpectedType string `json:"expectedType" enum:"string,number,boolean,object,array,null,undefined,function" jsonschema:"no JSON value is undefined or a function"`
	Message      string `json:"message,omitempty" jsonschema:"what the assertion is about"`
}

type typeResult struct {
	assertion
	ActualType string `json:"actualType"`
}

func assertType(_ context.Context, in typeArgs) (typeResult, error) {
	actual := value.Type(in.Value)
	found := "the type is " + actual
	if actual != in.ExpectedType {
		found += ", expected " + in.ExpectedType
	}
	return typeResult{asserted(actual == in.ExpectedType, in.Message, found), actual}, nil
}

type rangeArgs struct {
	Value   json.Number `json:"value"`
	Min     json.Number `json:"min"`
	Max     json.Number `json:"max"`
	Message string      `json:"message,omitempty" jsonschema:"what the assertion is about"`
}

func assertRange(_ context.Context, in rangeArgs) (assertion, error) {
	switch {
	case value.Compare(in.Min, in.Max) > 0:
		return assertion{}, fmt.Errorf("min must not be greater than max, and %s is greater than %s", in.Min, in.Max)
	case value.Compare(in.Value, in.Min) < 0:
		return asserted(false, in.Message, fmt.Sprintf("%s is less than %s", in.Value, in.Min)), nil
	case value.Compare(in.Value, in.Max) > 0:
		return asserted(false, in.Message, fmt.Sprintf("%s is greater than %s", in.Value, in.Max)), nil
	}
	return asserted(true, in.Message, fmt.Sprintf("%s is between %s and %s", in.Value, in.Min, in.Max)), nil
}

type schemaArgs struct {
	Data    any            `json:"data" jsonschema:"any value"`
	Schema  map[string]any `json:"schema" jsonschema:"JSON Schema; $schema names the draft, and without it the keywords of all drafts are known. References lead to parts of the same schema."`
	Message string         `json:"message,omitempty" jsonschema:"what the assertion is about"`
}

type schemaResult struct {
	assertion
	Errors []schema.Fault `json:"errors" jsonschema:"where the value does not fit the schema: the first 100 places"`
}

func assertSchema(ctx context.Context, in schemaArgs) (schemaResult, error) {
	faults, err := fits(ctx, in.Data, in.Schema)
	if err != nil {
		return schemaResult{}, err
	}
	if len(faults) == 0 {
		return schemaResult{asserted(true, in.Message, "the value fits the schema"), faults}, nil
	}
	found := faults[0].String()
	if more := len(faults) - 1; more > 0 {
		found += fmt.Sprintf(" (and %d more)", more)
	}
	return schemaResult{asserted(false, in.Message, found), faults}, nil
}

type validatorArgs struct {
	Data   map[string]any `json:"data"`
	Schema map[string]any `json:"schema" jsonschema:"JSON Schema, as in assert_json_schema"`
}

type validatorResult struct {
	Valid  bool           `json:"valid"`
	Errors []schema.Fault `json:"errors" jsonschema:"where the object does not fit the schema: the first 100 places"`
}

func validate(ctx context.Context, in validatorArgs) (validatorResult, error) {
	faults, err := fits(ctx, in.Data, in.Schema)
	return validatorResult{err == nil && len(faults) == 0, faults}, err
}

// fits returns where a value does not fit a schema, and an empty list if it fits.
func fits(ctx context.Context, v any, raw map[string]any) ([]schema.Fault, error) {
	s, err := schema.Compile(raw)
	if err != nil {
		return nil, err
	}
	faults, err := s.Check(ctx, v)
	return append([]schema.Fault{}, faults...), err
}
