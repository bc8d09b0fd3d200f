package otlp

import (
	"strings"

	"bareclaw/observe/capture"
)

// A batch makes signals of the spans and log records of one request.
type batch struct {
	sink     Sink
	queries  *nesting
	fetches  *nesting
	rejected int64 // for their ids
}

// span hands on what a span tells. It rejects one that cannot be found, as its ids have a wrong length.
func (b *batch) span(s *span) {
	trace, traced := traceID(s.trace)
	id, named := spanID(s.id)
	parent, placed := optionalSpanID(s.parent)
	if !traced || !named || !placed {
		b.rejected++
		return
	}
	signal := capture.Signal{
		Trace:  trace,
		Span:   id,
		Parent: parent,
		Server: s.kind == kindServer,
		At:     instant(s.start),
	}
	if query := s.query(signal.At); query != nil && b.queries.innermost(trace, id, parent) {
		signal.Query = query
	}
	if fetch := s.fetch(signal.At); fetch != nil && b.fetches.innermost(trace, id, parent) {
		signal.Fetch = fetch
	}
	faults := s.faults()
	if len(faults) > 0 {
		signal.Fault = &faults[0]
	}
	b.sink.Signal(signal)
	for i := 1; i < len(faults); i++ {
		b.sink.Signal(capture.Signal{
			Trace:  trace,
			Span:   id,
			Parent: parent,
			At:     faults[i].At,
			Fault:  &faults[i],
		})
	}
}

// log hands on a line. It rejects one whose ids have a wrong length; a line without ids belongs to no
// request.
func (b *batch) log(l *logRecord) {
	trace, traced := optionalTraceID(l.trace)
	parent, placed := optionalSpanID(l.span)
	if !traced || !placed {
		b.rejected++
		return
	}
	at := l.at
	if at == 0 {
		at = l.observed
	}
	line := capture.Log{
		At:    instant(at),
		Level: l.levelName(),
		Text:  l.text,
		From:  "otlp",
	}
	// The line is no step: the one that wrote it is above.
	b.sink.Signal(capture.Signal{
		Trace:  trace,
		Parent: parent,
		At:     line.At,
		Log:    &line,
	})
}

// levelName returns the level as the app said, or by its number.
func (l *logRecord) levelName() string {
	if l.level != "" {
		return strings.ToLower(l.level)
	}
	levels := []string{"trace", "debug", "info", "warn", "error", "fatal"}
	const numbersALevel = 4
	index := (l.severity - 1) / numbersALevel
	if l.severity < 1 || index >= int64(len(levels)) {
		return ""
	}
	return levels[index]
}

// exceptionEvent is the name of an event that records an error.
const exceptionEvent = "exception"

// faults returns the errors that the span tells of. An error of a query or a call is the app's to
// handle: if it does not, the error goes on to a step above.
func (s *span) faults() []capture.Fault {
	if s.kind == kindClient {
		return nil
	}
	var faults []capture.Fault
	for _, e := range s.events {
		if e.name == exceptionEvent {
			faults = append(faults, e.fault())
		}
	}
	if len(faults) == 0 && s.kind == kindServer && s.status == statusError && s.message != "" {
		faults = append(faults, capture.Fault{
			At:      instant(s.start).Add(s.took()),
			Name:    s.errorName(),
			Message: s.message,
		})
	}
	return faults
}

// errorName returns the type of the error with which the step ended.
func (s *span) errorName() string {
	name := s.attributes.get("error.type")
	if name == "" || strings.Trim(name, "0123456789") == "" { // a status code
		return "Error"
	}
	return name
}

func (e *event) fault() capture.Fault {
	name := e.attributes.get("exception.type")
	if name == "" {
		name = "Error"
	}
	return capture.Fault{
		At:      instant(e.at),
		Name:    name,
		Message: e.attributes.get("exception.message"),
		Stack:   e.attributes.get("exception.stacktrace"),
	}
}

// failed reports whether the step ended with an error.
func (s *span) failed() bool {
	return s.status == statusError || s.attributes.get("error.type") != ""
}
