package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"

	"bareclaw/core/tools"
	"bareclaw/internal/plainjson"
	"bareclaw/internal/schema"
	"bareclaw/internal/schema/value"
)

func dataTools() []tools.Tool {
	return []tools.Tool{
		random(define("data_generate", "Make test data of a type, such as names and addresses, which belong to nobody.", generateArgs{Count: 1}, generateData)),
		random(define("data_from_schema", "Make data that fit a JSON Schema of the drafts 4 to 2020-12.", fromSchemaArgs{Count: 1}, dataFromSchema)),
		define("data_edge_cases", "List texts that programs often handle wrongly: injections, boundaries, unusual characters, nothing.", edgeArgs{Category: "all", Limit: 10}, edgeCases),
	}
}

// dataResult is the result of tools that make data.
type dataResult struct {
	Count int `json:"count"`
	Data  any `json:"data" jsonschema:"an array of the values; of a count of 1, the value itself"`
}

func newDataResult(count int, one func() (any, error)) (dataResult, error) {
	all, size := []any{}, 0
	for range count {
		v, err := one()
		if err != nil {
			return dataResult{}, err
		}
		if size += len(must(plainjson.Marshal(v))); size > maxResult {
			return dataResult{}, fmt.Errorf("count: %w", errTooLarge)
		}
		all = append(all, v)
	}
	if count == 1 {
		return dataResult{1, all[0]}, nil
	}
	return dataResult{count, all}, nil
}

type generateArgs struct {
	Type    string          `json:"type" enum:"name,firstName,lastName,email,phone,uuid,date,boolean,number,word,sentence,paragraph,url,ipv4,username,password,hexColor,company"`
	Count   int             `json:"count,omitempty" min:"1" max:"1000"`
	Options generateOptions `json:"options,omitzero"`
}

type generateOptions struct {
	Min    json.Number `json:"min,omitempty" jsonschema:"the least number; if absent 0, or 1000 less than a negative max"`
	Max    json.Number `json:"max,omitempty" jsonschema:"the largest number, 1000 more than min if absent; numbers have fractions if a bound has"`
	Length int         `json:"length,omitempty" min:"1" max:"1000" jsonschema:"of a password in characters, of a sentence in words, of a paragraph in sentences"`
}

func generateData(ctx context.Context, in generateArgs) (dataResult, error) {
	switch in.Type {
	case "number":
		return generateNumbers(ctx, in)
	case "boolean":
		return newDataResult(in.Count, func() (any, error) { return rand.N(2) == 0, nil })
	}
	return newDataResult(in.Count, func() (any, error) { return fakeText(in.Type, in.Options.Length), nil })
}

// generateNumbers makes numbers as data_from_schema does, which is exact beyond 2^53 too.
func generateNumbers(ctx context.Context, in generateArgs) (dataResult, error) {
	keywords := map[string]any{"type": "integer"}
	for name, bound := range map[string]json.Number{"minimum": in.Options.Min, "maximum": in.Options.Max} {
		if bound == "" {
			continue
		}
		keywords[name] = bound
		if !value.IsInteger(bound) {
			keywords["type"] = "number"
		}
	}
	low, high := in.Options.Min, in.Options.Max
	switch {
	case low == "" && (high == "" || value.Compare(high, "0") >= 0):
		keywords["minimum"] = json.Number("0")
	case low != "" && high != "" && value.Compare(low, high) > 0:
		return dataResult{}, fmt.Errorf("options.min must not be greater than options.max, and %s is greater than %s", low, high)
	}
	return dataFromSchema(ctx, fromSchemaArgs{keywords, in.Count})
}

type fromSchemaArgs struct {
	Schema map[string]any `json:"schema" jsonschema:"JSON Schema, as in assert_json_schema"`
	Count  int            `json:"count,omitempty" min:"1" max:"1000"`
}

func dataFromSchema(ctx context.Context, in fromSchemaArgs) (dataResult, error) {
	s, err := schema.Compile(in.Schema)
	if err != nil {
		return dataResult{}, err
	}
	return newDataResult(in.Count, func() (any, error) { return s.Generate(ctx, formatted) })
}

// formatted returns a text of a format of JSON Schema, or a word.
func formatted(format string) string {
	switch format {
	case "date-time":
		return pastTime().Format(time.RFC3339)
	case "time":
		return pastTime().Format("15:04:05Z07:00")
	case "date", "email", "uuid", "ipv4":
		return fakeText(format, 0)
	case "uri", "url", "iri", "uri-reference", "iri-reference":
		return fakeText("url", 0)
	case "hostname", "idn-hostname":
		return oneOf(hosts)
	case "idn-email":
		return fakeText("email", 0)
	case "ipv6":
		return fmt.Sprintf("2001:db8::%x:%x", 1+rand.N(0xffff), 1+rand.N(0xffff)) // for documentation: RFC 3849
	}
	return oneOf(nouns)
}

// The words of which texts are made, with a space between each two.
const (
	firstNames = "Ada Alan Amara Anton Beatriz Björn Chloé Daniel Elena Emeka Fatima Georg Hana Ivan Jun Kwame Leila Mateo Nadia Olga Priya Quentin Rosa Søren Tomás Uma Viktor Wei Yusuf Zoë"
	lastNames  = "Abebe Andersson Bianchi Brown Chen Costa Dubois Eriksen Fischer García Haddad Ivanova Jansen Kaya Kowalski Laurent Müller Nakamura Nguyen Okafor O'Neill Patel Rossi Sato Silva Smith Tanaka Weber Yilmaz Zhang"
	nouns      = "anchor basket bridge canvas circle copper corner desert engine fabric forest garden harbor island jacket kettle ladder lantern marble meadow mirror needle orchard palace pebble pencil planet ribbon river saddle shadow silver spiral summer thunder timber tunnel valley velvet window winter"
	verbs      = "carries covers crosses draws feels finds follows holds keeps leaves lifts meets moves opens reaches shows takes turns waits works"
	hosts      = "example.com example.net example.org" // for examples: RFC 2606
	businesses = "Ltd Inc GmbH Group Labs Partners Works"
)

func oneOf(words string) string {
	all := strings.Fields(words)
	return all[rand.N(len(all))]
}

// fakeText returns a text of a type of data_generate. A length of 0 is a usual length.
func fakeText(kind string, length int) string {
	switch kind {
	case "name":
		return oneOf(firstNames) + " " + oneOf(lastNames)
	case "firstName":
		return oneOf(firstNames)
	case "lastName":
		return oneOf(lastNames)
	case "company":
		return title(oneOf(nouns)) + " " + title(oneOf(nouns)) + " " + oneOf(businesses)
	case "username":
		return fmt.Sprintf("%s_%s%d", oneOf(nouns), oneOf(nouns), rand.N(1000))
	case "email":
		return fmt.Sprintf("%s.%s%d@%s", oneOf(nouns), oneOf(nouns), rand.N(1000), oneOf(hosts))
	case "phone":
		return fmt.Sprintf("+1-%d-555-01%02d", 200+rand.N(700), rand.N(100)) // for fiction
	case "url":
		return fmt.Sprintf("https://www.%s/%s/%d", oneOf(hosts), oneOf(nouns), rand.N(10000))
	case "ipv4":
		return fmt.Sprintf("%s.%d", oneOf("192.0.2 198.51.100 203.0.113"), 1+rand.N(254)) // for documentation: RFC 5737
	case "uuid":
		return uuid.NewString()
	case "date":
		return pastTime().Format(time.DateOnly)
	case "hexColor":
		return fmt.Sprintf("#%06X", rand.N(1<<24))
	case "password":
		return password(length)
	case "sentence":
		return sentence(length)
	case "paragraph":
		if length == 0 {
			length = 3 + rand.N(4)
		}
		sentences := make([]string, length)
		for i := range sentences {
			sentences[i] = sentence(0)
		}
		return strings.Join(sentences, " ")
	}
	return oneOf(nouns)
}

// pastTime returns a time of the last 365 days, without fractions of seconds.
func pastTime() time.Time {
	return time.Now().UTC().Add(-rand.N(365 * 24 * time.Hour)).Truncate(time.Second)
}

// password has letters of both cases, a digit and a sign, as far as the length allows.
func password(length int) string {
	const lower, upper, digits, signs = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", "!#$%&*+-=?@_"
	if length == 0 {
		length = 16
	}
	b := make([]byte, length)
	for i := range b {
		from := lower + upper + digits + signs
		if i < 4 {
			from = [...]string{lower, upper, digits, signs}[i]
		}
		b[i] = from[rand.N(len(from))]
	}
	rand.Shuffle(length, func(i, j int) { b[i], b[j] = b[j], b[i] })
	return string(b)
}

func sentence(length int) string {
	if length == 0 {
		length = 5 + rand.N(8)
	}
	words := make([]string, length)
	for i := range words {
		switch i % 6 {
		case 0, 3:
			words[i] = "the"
		case 2:
			words[i] = oneOf(verbs)
		case 5:
			words[i] = "and"
		default:
			words[i] = oneOf(nouns)
		}
	}
	words[length-1] = oneOf(nouns)
	return title(strings.Join(words, " ")) + "."
}

func title(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
