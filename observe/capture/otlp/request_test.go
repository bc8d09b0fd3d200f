package otlp

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"bareclaw/internal/testkit/check"
)

// A message is a protobuf message that a test writes.
type message []byte

func (m message) str(number protowire.Number, s string) message {
	return message(protowire.AppendString(protowire.AppendTag(m, number, protowire.BytesType), s))
}

func (m message) sub(number protowire.Number, sub message) message {
	return message(protowire.AppendBytes(protowire.AppendTag(m, number, protowire.BytesType), sub))
}

func (m message) varint(number protowire.Number, n uint64) message {
	return message(protowire.AppendVarint(protowire.AppendTag(m, number, protowire.VarintType), n))
}

func (m message) fixed(number protowire.Number, n uint64) message {
	return message(protowire.AppendFixed64(protowire.AppendTag(m, number, protowire.Fixed64Type), n))
}

// object is a JSON object that a test writes.
type object = map[string]any

// A testSpan is a span that a test sends in both encodings. Attribute values are strings, ints,
// or lists of strings.
type testSpan struct {
	trace      string // hex
	id         string
	parent     string
	name       string
	kind       int
	start      uint64
	end        uint64
	attributes object
	exceptions []object
	status     int
	message    string
}

func bytesOf(id string) string {
	b, err := hex.DecodeString(id)
	if err != nil {
		return id
	}
	return string(b)
}

func (s *testSpan) protobuf() message {
	m := message(nil).str(1, bytesOf(s.trace)).str(2, bytesOf(s.id)).str(4, bytesOf(s.parent)).str(5, s.name)
	m = m.varint(6, uint64(s.kind)).fixed(7, s.start).fixed(8, s.end)
	for key, v := range s.attributes {
		m = m.sub(9, keyValue(key, v))
	}
	for _, e := range s.exceptions {
		event := message(nil).fixed(1, s.end).str(2, "exception")
		for key, v := range e {
			event = event.sub(3, keyValue(key, v))
		}
		m = m.sub(11, event)
	}
	return m.sub(15, message(nil).str(2, s.message).varint(3, uint64(s.status)))
}

func keyValue(key string, v any) message { return message(nil).str(1, key).sub(2, anyValue(v)) }

func anyValue(v any) message {
	switch v := v.(type) {
	case string:
		return message(nil).str(1, v)
	case bool:
		return message(nil).varint(2, protowire.EncodeBool(v))
	case int:
		return message(nil).varint(3, uint64(v))
	case []string:
		var list message
		for _, s := range v {
			list = list.sub(1, anyValue(s))
		}
		return message(nil).sub(5, list)
	case object:
		var list message
		for key, value := range v {
			list = list.sub(1, keyValue(key, value))
		}
		return message(nil).sub(6, list)
	default:
		panic("a test has an attribute of a type of its own")
	}
}

func (s *testSpan) json() object {
	o := object{
		"traceId":           s.trace,
		"spanId":            s.id,
		"parentSpanId":      s.parent,
		"name":              s.name,
		"kind":              s.kind,
		"startTimeUnixNano": strconv.FormatUint(s.start, 10),
		"endTimeUnixNano":   strconv.FormatUint(s.end, 10),
		"attributes":        jsonAttributes(s.attributes),
		"status":            object{"code": s.status, "message": s.message},
		"droppedAnything":   []any{1, object{"a": nil}},
	}
	var events []object
	for _, e := range s.exceptions {
		events = append(events, object{
			"timeUnixNano": strconv.FormatUint(s.end, 10),
			"name":         "exception",
			"attributes":   jsonAttributes(e),
		})
	}
	o["events"] = events
	return o
}

func jsonAttributes(attributes object) []object {
	list := []object{}
	for key, v := range attributes {
		list = append(list, object{"key": key, "value": jsonValue(v)})
	}
	return list
}

func jsonValue(v any) object {
	switch v := v.(type) {
	case string:
		return object{"stringValue": v}
	case bool:
		return object{"boolValue": v}
	case int:
		return object{"intValue": strconv.Itoa(v)}
	case []string:
		values := []object{}
		for _, s := range v {
			values = append(values, jsonValue(s))
		}
		return object{"arrayValue": object{"values": values}}
	case object:
		return object{"kvlistValue": object{"values": jsonAttributes(v)}}
	default:
		panic("a test has an attribute of a type of its own")
	}
}

// protobufRequestOf returns a request of one resource and scope.
func protobufRequestOf(records ...message) []byte {
	scope := message(nil).sub(1, message(nil).str(1, "a library"))
	for _, r := range records {
		scope = scope.sub(2, r)
	}
	resource := message(nil).sub(1, nil).sub(2, scope)
	return message(nil).sub(1, resource)
}

// tracesIn returns a request with the spans in both encodings, by content type.
func tracesIn(t testing.TB, spans ...testSpan) map[string][]byte {
	t.Helper()
	var messages []message
	var objects []object
	for i := range spans {
		messages = append(messages, spans[i].protobuf())
		objects = append(objects, spans[i].json())
	}
	body, err := json.Marshal(object{
		"resourceSpans": []object{{
			"resource": object{"attributes": []object{}},
			"scopeSpans": []object{{
				"scope": object{"name": "a library"},
				"spans": objects,
			}},
		}},
	})
	check.OK(t, err)
	return map[string][]byte{
		mediaProtobuf: protobufRequestOf(messages...),
		mediaJSON:     body,
	}
}
