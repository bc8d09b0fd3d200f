package otlp

// span reads a Span.
func (r *jsonReader) span() span {
	var s span
	r.object(func(name string) {
		switch name {
		case "traceId":
			s.trace = r.id()
		case "spanId":
			s.id = r.id()
		case "parentSpanId":
			s.parent = r.id()
		case "name":
			s.name = r.text()
		case "kind":
			s.kind = r.signed()
		case "startTimeUnixNano":
			s.start = r.unsigned()
		case "endTimeUnixNano":
			s.end = r.unsigned()
		case "attributes":
			s.attributes = r.attributes()
		case "events":
			s.events = r.events()
		case "status":
			r.status(&s)
		default:
			r.skip()
		}
	})
	return s
}

// events reads Span.Events.
func (r *jsonReader) events() []event {
	var events []event
	r.array(func() {
		if len(events) == maxEvents {
			r.skip()
			return
		}
		events = append(events, r.event())
	})
	return events
}

func (r *jsonReader) event() event {
	var e event
	r.object(func(name string) {
		switch name {
		case "timeUnixNano":
			e.at = r.unsigned()
		case "name":
			e.name = r.text()
		case "attributes":
			e.attributes = r.attributes()
		default:
			r.skip()
		}
	})
	return e
}

// status reads a Status.
func (r *jsonReader) status(s *span) {
	r.object(func(name string) {
		switch name {
		case "code":
			s.status = r.signed()
		case "message":
			s.message = r.text()
		default:
			r.skip()
		}
	})
}

// log reads a LogRecord.
func (r *jsonReader) log() logRecord {
	var l logRecord
	r.object(func(name string) {
		switch name {
		case "timeUnixNano":
			l.at = r.unsigned()
		case "observedTimeUnixNano":
			l.observed = r.unsigned()
		case "severityNumber":
			l.severity = r.signed()
		case "severityText":
			l.level = r.text()
		case "body":
			l.text = r.valueText()
		case "traceId":
			l.trace = r.id()
		case "spanId":
			l.span = r.id()
		default:
			r.skip()
		}
	})
	return l
}

// attributes reads KeyValues.
func (r *jsonReader) attributes() attributes {
	var a attributes
	r.array(func() {
		if len(a) == maxAttributes {
			r.skip()
			return
		}
		var one attribute
		r.object(func(name string) {
			switch name {
			case "key":
				one.name = r.text()
			case "value":
				one.value = r.valueText()
			default:
				r.skip()
			}
		})
		a.add(one)
	})
	return a
}

// valueText reads an AnyValue as text.
func (r *jsonReader) valueText() string {
	var v valueText
	r.value(&v)
	return v.String()
}

// value reads an AnyValue.
func (r *jsonReader) value(v *valueText) {
	if v.full() {
		r.skip()
		return
	}
	r.object(func(name string) {
		switch name {
		case "stringValue", "bytesValue":
			v.str(r.text())
		case "boolValue":
			v.boolean(r.boolean())
		case "intValue":
			v.number(r.signed())
		case "doubleValue":
			v.raw(r.digits())
		case "arrayValue":
			r.parts(v, "[", "]", func() { r.value(v) })
		case "kvlistValue":
			r.parts(v, "{", "}", func() { r.entry(v) })
		default:
			r.skip()
		}
	})
}

// parts reads an ArrayValue or a KeyValueList.
func (r *jsonReader) parts(v *valueText, opening, closing string, part func()) {
	count := 0
	v.open(opening)
	r.elements("values", func() {
		v.next(count)
		count++
		part()
	})
	v.end(closing)
}

// entry reads a KeyValue within a value. Exporters write the key first, as it is declared.
func (r *jsonReader) entry(v *valueText) {
	r.object(func(name string) {
		switch name {
		case "key":
			v.str(r.text())
			v.raw(":")
		case "value":
			r.value(v)
		default:
			r.skip()
		}
	})
}
