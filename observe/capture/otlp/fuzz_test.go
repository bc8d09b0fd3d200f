package otlp

import (
	"bytes"
	"io"
	"testing"
	"unicode/utf8"

	"bareclaw/observe/capture"
)

// checked is a sink that fails a test for a signal that cannot be.
type checked struct{ t *testing.T }

func (c checked) Signal(s capture.Signal) {
	texts := []string{}
	if s.Query != nil {
		texts = append(texts, s.Query.Text, s.Query.Values, s.Query.System, s.Query.Table)
		if s.Query.Took < 0 || s.Query.Text == "" {
			c.t.Errorf("a query of %q that took %v", s.Query.Text, s.Query.Took)
		}
	}
	if s.Fetch != nil {
		texts = append(texts, s.Fetch.Method, s.Fetch.URL)
		if s.Fetch.Status < 0 {
			c.t.Errorf("a fetch was answered %d", s.Fetch.Status)
		}
	}
	if s.Log != nil {
		texts = append(texts, s.Log.Level, s.Log.Text)
	}
	if s.Fault != nil {
		texts = append(texts, s.Fault.Name, s.Fault.Message, s.Fault.Stack)
	}
	for _, text := range texts {
		if len(text) > capture.MaxSignalText || !utf8.ValidString(text) {
			c.t.Errorf("a text of %d bytes: %.100q", len(text), text)
		}
	}
	if s.At.IsZero() {
		c.t.Error("a signal has no time")
	}
	if s.Log == nil && (s.Trace == capture.TraceID{} || s.Span == capture.SpanID{}) {
		c.t.Errorf("a step has no ids: %+v", s)
	}
}

// fuzzDecoders gives both decoders of an encoding what is fuzzed. They must read or refuse it.
func fuzzDecoders(f *testing.F, decoders ...func(body io.Reader, b *batch) error) {
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, decode := range decoders {
			b := &batch{
				sink:    checked{t},
				queries: newNesting(),
				fetches: newNesting(),
			}
			err := decode(bytes.NewReader(body), b)
			if err != nil && err.Error() == "" {
				t.Error("an error without words")
			}
		}
	})
}

// seeds are requests that hold something of everything.
func seeds(f *testing.F, media string) {
	f.Helper()
	query := spanOf(kindClient, object{
		"db.system":            "postgresql",
		"db.query.text":        "SELECT $1",
		"db.query.parameter.a": []string{"x", "\xff"},
		"nested":               object{"a": []string{"b"}, "c": true},
	})
	fetch := spanOf(kindClient, object{"http.method": "GET", "http.host": "x:1", "http.status_code": 200})
	thrown := spanOf(kindServer, nil)
	thrown.exceptions = []object{{"exception.type": "E", "exception.stacktrace": "at"}}
	thrown.status = statusError
	f.Add(tracesIn(f, query, fetch, thrown)[media])
	f.Add(tracesIn(f, spanOf(1, nil))[media][:40])
	f.Add([]byte{})
}

func FuzzProtobuf(f *testing.F) {
	seeds(f, mediaProtobuf)
	record := message(nil).fixed(1, noon).varint(2, 17).sub(5, anyValue(object{"a": "b"})).str(9, bytesOf(traceHex))
	f.Add(protobufRequestOf(record))
	fuzzDecoders(f, protobufTraces, protobufLogs)
}

func FuzzJSON(f *testing.F) {
	seeds(f, mediaJSON)
	f.Add([]byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"severityNumber":"9","body":{"arrayValue":{"values":[{"doubleValue":1.5}]}}}]}]}]}`))
	f.Add([]byte(`{"resourceSpans":{},"resourceSpans":[[],{"scopeSpans":[null,{"spans":[{"traceId":7,"kind":{}}]}]}]}`))
	fuzzDecoders(f, jsonTraces, jsonLogs)
}
