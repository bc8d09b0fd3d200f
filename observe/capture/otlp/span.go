package otlp

import (
	"math"
	"time"

	"bareclaw/observe/capture"
)

// The kinds of spans that matter, as on the wire.
const (
	kindServer = 2
	kindClient = 3
)

// statusError is the code of a span that has failed, as on the wire.
const statusError = 2

// A span is one step of an app, as far as it is read.
type span struct {
	trace      []byte
	id         []byte
	parent     []byte
	name       string
	kind       int64
	start      uint64 // nanoseconds since 1970
	end        uint64
	attributes attributes
	events     []event
	status     int64
	message    string // says why the step has failed
}

// An event is something that happened during a step.
type event struct {
	at         uint64
	name       string
	attributes attributes
}

// A logRecord is something that an app has logged.
type logRecord struct {
	at       uint64
	observed uint64
	severity int64
	level    string
	text     string
	trace    []byte
	span     []byte
}

// An attribute is a name and its value as text. A value of several parts is JSON.
type attribute struct {
	name  string
	value string
}

// attributes are few, so that a search beats a map.
type attributes []attribute

// add appends an attribute, if there is room.
func (a *attributes) add(one attribute) {
	if len(*a) < maxAttributes {
		*a = append(*a, one)
	}
}

// get returns the value of the first of the names that is present and not empty.
func (a attributes) get(names ...string) string {
	for _, name := range names {
		for _, one := range a {
			if one.name == name && one.value != "" {
				return one.value
			}
		}
	}
	return ""
}

// instant returns the time, or now if the app has told none that can be.
func instant(nanoseconds uint64) time.Time {
	if nanoseconds == 0 || nanoseconds > math.MaxInt64 {
		return time.Now()
	}
	return time.Unix(0, int64(nanoseconds))
}

// took returns how long the step lasted; 0 if the app's times contradict each other.
func (s *span) took() time.Duration {
	if s.end <= s.start || s.end-s.start > math.MaxInt64 {
		return 0
	}
	return time.Duration(s.end - s.start)
}

// traceID returns the id, and false if it has another length or is zero.
func traceID(b []byte) (capture.TraceID, bool) {
	var id capture.TraceID
	if len(b) != len(id) {
		return id, false
	}
	copy(id[:], b)
	return id, id != capture.TraceID{}
}

// spanID returns the id, and false if it has another length or is zero.
func spanID(b []byte) (capture.SpanID, bool) {
	var id capture.SpanID
	if len(b) != len(id) {
		return id, false
	}
	copy(id[:], b)
	return id, id != capture.SpanID{}
}

// optionalSpanID returns the id, or zero if there is none, and false if it has another length.
func optionalSpanID(b []byte) (capture.SpanID, bool) {
	var id capture.SpanID
	if len(b) != 0 && len(b) != len(id) {
		return id, false
	}
	copy(id[:], b)
	return id, true
}

// optionalTraceID returns the id, or zero if there is none, and false if it has another length.
func optionalTraceID(b []byte) (capture.TraceID, bool) {
	var id capture.TraceID
	if len(b) != 0 && len(b) != len(id) {
		return id, false
	}
	copy(id[:], b)
	return id, true
}
