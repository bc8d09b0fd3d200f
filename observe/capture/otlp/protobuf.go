package otlp

import (
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"bareclaw/observe/capture"
)

// A protobuf reads messages field by field. After an error it reads nothing more.
type protobuf struct {
	err error
}

// A field is one of a message. A value of another type than expected reads as zero, as one that is
// not there.
type field struct {
	number protowire.Number
	bytes  []byte // of strings, bytes and messages
	bits   uint64 // of numbers
}

// signed returns a number as an enum or int64.
func (f field) signed() int64 { return int64(f.bits) }

// text returns a string, cut.
func (f field) text() string {
	end := min(len(f.bytes), capture.MaxSignalText+1)
	return capture.CutSignalText(string(f.bytes[:end]))
}

// fields calls each for the fields of a message, in their order.
func (p *protobuf) fields(message []byte, each func(f field)) {
	for len(message) > 0 && p.err == nil {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			p.fail(n)
			return
		}
		message = message[n:]
		f := field{number: number}
		switch kind {
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			f.bits, n = protowire.ConsumeVarint(message)
		case protowire.Fixed64Type:
			f.bits, n = protowire.ConsumeFixed64(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			p.fail(n)
			return
		}
		message = message[n:]
		each(f)
	}
}

func (p *protobuf) fail(n int) {
	p.err = fmt.Errorf("the body is not a protobuf message: %w", protowire.ParseError(n))
}

// protobufTraces reads an ExportTraceServiceRequest.
func protobufTraces(body io.Reader, b *batch) error {
	return protobufRequest(body, func(p *protobuf, message []byte) {
		s := p.span(message)
		if p.err == nil {
			b.span(&s)
		}
	})
}

// protobufLogs reads an ExportLogsServiceRequest.
func protobufLogs(body io.Reader, b *batch) error {
	return protobufRequest(body, func(p *protobuf, message []byte) {
		l := p.log(message)
		if p.err == nil {
			b.log(&l)
		}
	})
}

// protobufRequest calls each for the spans or log records of a request. Both kinds of requests have
// them in the same place: by resource, then by scope.
func protobufRequest(body io.Reader, each func(p *protobuf, message []byte)) error {
	const (
		requestResources = 1
		resourceScopes   = 2
		scopeRecords     = 2
	)
	request, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	p := &protobuf{}
	p.fields(request, func(resource field) {
		if resource.number != requestResources {
			return
		}
		p.fields(resource.bytes, func(scope field) {
			if scope.number != resourceScopes {
				return
			}
			p.fields(scope.bytes, func(record field) {
				if record.number == scopeRecords {
					each(p, record.bytes)
				}
			})
		})
	})
	return p.err
}

// span reads a Span.
func (p *protobuf) span(message []byte) span {
	var s span
	p.fields(message, func(f field) {
		switch f.number {
		case 1:
			s.trace = f.bytes
		case 2:
			s.id = f.bytes
		case 4:
			s.parent = f.bytes
		case 5:
			s.name = f.text()
		case 6:
			s.kind = f.signed()
		case 7:
			s.start = f.bits
		case 8:
			s.end = f.bits
		case 9:
			s.attributes.add(p.attribute(f.bytes))
		case 11:
			if len(s.events) < maxEvents {
				s.events = append(s.events, p.event(f.bytes))
			}
		case 15:
			p.status(f.bytes, &s)
		}
	})
	return s
}

// event reads a Span.Event.
func (p *protobuf) event(message []byte) event {
	var e event
	p.fields(message, func(f field) {
		switch f.number {
		case 1:
			e.at = f.bits
		case 2:
			e.name = f.text()
		case 3:
			e.attributes.add(p.attribute(f.bytes))
		}
	})
	return e
}

// status reads a Status.
func (p *protobuf) status(message []byte, s *span) {
	p.fields(message, func(f field) {
		switch f.number {
		case 2:
			s.message = f.text()
		case 3:
			s.status = f.signed()
		}
	})
}

// log reads a LogRecord.
func (p *protobuf) log(message []byte) logRecord {
	var l logRecord
	p.fields(message, func(f field) {
		switch f.number {
		case 1:
			l.at = f.bits
		case 2:
			l.severity = f.signed()
		case 3:
			l.level = f.text()
		case 5:
			l.text = p.valueText(f.bytes)
		case 9:
			l.trace = f.bytes
		case 10:
			l.span = f.bytes
		case 11:
			l.observed = f.bits
		}
	})
	return l
}

// attribute reads a KeyValue.
func (p *protobuf) attribute(message []byte) attribute {
	var a attribute
	p.fields(message, func(f field) {
		switch f.number {
		case 1:
			a.name = f.text()
		case 2:
			a.value = p.valueText(f.bytes)
		}
	})
	return a
}

// valueText reads an AnyValue as text.
func (p *protobuf) valueText(message []byte) string {
	var v valueText
	p.value(message, &v)
	return v.String()
}

// value reads an AnyValue.
func (p *protobuf) value(message []byte, v *valueText) {
	p.fields(message, func(f field) {
		if v.full() {
			return
		}
		switch f.number {
		case 1, 7:
			v.str(f.text())
		case 2:
			v.boolean(f.bits != 0)
		case 3:
			v.number(f.signed())
		case 4:
			v.float(math.Float64frombits(f.bits))
		case 5:
			p.array(f.bytes, v)
		case 6:
			p.list(f.bytes, v)
		}
	})
}

// array reads an ArrayValue.
func (p *protobuf) array(message []byte, v *valueText) {
	count := 0
	v.open("[")
	p.fields(message, func(f field) {
		if f.number == 1 {
			v.next(count)
			p.value(f.bytes, v)
			count++
		}
	})
	v.end("]")
}

// list reads a KeyValueList.
func (p *protobuf) list(message []byte, v *valueText) {
	count := 0
	v.open("{")
	p.fields(message, func(entry field) {
		if entry.number != 1 {
			return
		}
		v.next(count)
		count++
		p.fields(entry.bytes, func(f field) {
			switch f.number {
			case 1:
				v.str(f.text())
				v.raw(":")
			case 2:
				p.value(f.bytes, v)
			}
		})
	})
	v.end("}")
}
