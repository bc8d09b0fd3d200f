package schema

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"bareclaw/internal/schema/value"
)

// A form is what the value of a keyword may be, as a set.
type form int

const (
	oneSchema form = 1 << iota
	schemaList
	schemaMap
	text
	anyNumber
	positive // a number above 0
	count    // an integer from 0
	flag
	texts
	textsMap // an object of lists of strings
	typeName
	list
)

// forms has what the value of a keyword may be; a keyword without a row may have any value.
var forms = map[string]form{
	"additionalItems":       oneSchema,
	"additionalProperties":  oneSchema,
	"contains":              oneSchema,
	"else":                  oneSchema,
	"if":                    oneSchema,
	"then":                  oneSchema,
	"not":                   oneSchema,
	"propertyNames":         oneSchema,
	"unevaluatedItems":      oneSchema,
	"unevaluatedProperties": oneSchema,
	"items":                 oneSchema | schemaList,
	"allOf":                 schemaList,
	"anyOf":                 schemaList,
	"oneOf":                 schemaList,
	"prefixItems":           schemaList,
	"$defs":                 schemaMap,
	"definitions":           schemaMap,
	"dependentSchemas":      schemaMap,
	"patternProperties":     schemaMap,
	"properties":            schemaMap,
	"dependencies":          schemaMap,
	"$ref":                  text,
	"$dynamicRef":           text,
	"$recursiveRef":         text,
	"$id":                   text,
	"$anchor":               text,
	"$dynamicAnchor":        text,
	"$schema":               text,
	"pattern":               text,
	"format":                text,
	"minimum":               anyNumber,
	"maximum":               anyNumber,
	"exclusiveMinimum":      anyNumber | flag,
	"exclusiveMaximum":      anyNumber | flag,
	"multipleOf":            positive,
	"minLength":             count,
	"maxLength":             count,
	"minItems":              count,
	"maxItems":              count,
	"minProperties":         count,
	"maxProperties":         count,
	"minContains":           count,
	"maxContains":           count,
	"uniqueItems":           flag,
	"$recursiveAnchor":      flag,
	"required":              texts,
	"dependentRequired":     textsMap,
	"type":                  typeName,
	"enum":                  list,
}

// check returns which keyword has a value that it must not have.
func (n *node) check() error {
	for keyword, v := range n.keywords {
		want := forms[keyword]
		switch {
		case keyword == "items" && n.draft == draft2020:
			want = oneSchema
		case keyword == "exclusiveMinimum" || keyword == "exclusiveMaximum":
			switch n.draft {
			case draft4:
				want = flag
			case anyDraft:
			default:
				want = anyNumber
			}
		}
		if want != 0 && !want.fits(v) {
			return n.fault(keyword, "must be %s", want)
		}
	}
	return nil
}

func (f form) fits(v any) bool {
	switch v := v.(type) {
	case bool:
		return f&(flag|oneSchema) != 0
	case json.Number:
		return f&anyNumber != 0 || f&positive != 0 && value.Compare(v, "0") > 0 ||
			f&count != 0 && value.IsInteger(v) && value.Compare(v, "0") >= 0
	case string:
		return f&text != 0 || f&typeName != 0 && slices.Contains(typeNames(), v)
	case []any:
		switch {
		case f&(schemaList|list) != 0:
			return true
		case f&typeName != 0:
			return !slices.ContainsFunc(v, func(e any) bool { return !typeName.fits(e) || value.Type(e) != "string" })
		}
		return f&texts != 0 && !slices.ContainsFunc(v, func(e any) bool { return value.Type(e) != "string" })
	case map[string]any:
		if f&textsMap != 0 {
			for _, e := range v {
				if !texts.fits(e) {
					return false
				}
			}
		}
		return f&(oneSchema|schemaMap|textsMap) != 0
	}
	return false
}

func (f form) String() string {
	var words []string
	for i, word := range []string{
		"a schema", "an array of schemas", "an object of schemas", "a string", "a number", "a number above 0", "an integer from 0", "true or false",
		"an array of strings", "an object of arrays of strings", "one or several of " + strings.Join(typeNames(), ", "), "an array",
	} {
		if f&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return strings.Join(words, " or ")
}

func typeNames() []string {
	return []string{"null", "boolean", "object", "array", "number", "integer", "string"}
}

// count returns the value of a keyword that bounds a size, or the value for its absence.
func (n *node) count(keyword string, absent int) int {
	v, ok := n.keywords[keyword].(json.Number)
	if !ok {
		return absent
	}
	if f, err := v.Float64(); err == nil && f <= math.MaxInt32 {
		return int(f)
	}
	return math.MaxInt32
}
