package capture

import (
	"strings"
	"time"
)

const (
	// maxName is how much of a name is kept that the app or a client gives, such as that of a table, in bytes.
	maxName = 256
	// tellsOfBefore is how long before the observer began what an app tells of may have been.
	tellsOfBefore = lateUntil
)

// A period is the time in which all must lie that an app tells of.
type period struct {
	first time.Time
	last  time.Time
}

// bound returns a time that the app has told: in the period, and its end if there is none. The clock of the app may
// be wrong, and what is compared with a time of the future would be over for ever.
func (p period) bound(at time.Time) time.Time {
	switch {
	case at.IsZero(), at.After(p.last):
		return p.last
	case at.Before(p.first):
		return p.first
	}
	return at
}

// toldUntil returns the period of what is told until now.
func (s *Store) toldUntil(now time.Time) period {
	return period{
		first: s.began.Add(-tellsOfBefore),
		last:  now,
	}
}

// prepareRequest bounds what a request has from outside, but its header and its URL, which build masks and cuts. An
// app tells of requests that have not passed the proxy: their times are the app's.
func (p period) prepareRequest(r *Request) {
	r.ID = cutName(r.ID)
	r.Client = cutName(r.Client)
	r.Method = cutName(r.Method)
	if r.Span == (SpanID{}) {
		r.Started = p.bound(r.Started)
		r.Took = min(r.Took, p.last.Sub(r.Started))
	}
}

// prepare returns the signal with its texts masked and cut, and its times bounded: nothing of it gets into a Store in
// another way. It changes nothing that the signal points to.
func (p period) prepare(signal Signal) Signal {
	signal.Request = cutName(signal.Request)
	signal.At = p.bound(signal.At)
	if signal.Query != nil {
		q := *signal.Query
		p.prepareQuery(&q)
		signal.Query = &q
	}
	if signal.Fetch != nil {
		f := *signal.Fetch
		f.At = p.bound(f.At)
		f.Method = cutName(f.Method)
		f.URL = cutText(MaskURL(f.URL))
		signal.Fetch = &f
	}
	if signal.Log != nil {
		l := *signal.Log
		l.At = p.bound(l.At)
		l.Level = cutName(strings.ToLower(l.Level))
		l.Text = cutText(MaskText(withoutEscapes(l.Text)))
		l.From = cutName(l.From)
		signal.Log = &l
	}
	if signal.Fault != nil {
		f := *signal.Fault
		f.At = p.bound(f.At)
		f.Name = cutName(MaskText(f.Name))
		f.Message = cutText(MaskText(f.Message))
		f.Stack = cutText(MaskText(f.Stack))
		signal.Fault = &f
	}
	return signal
}

// maskParameters masks the parameters of a query. If the query names a secret, it is not known which of them it is.
func maskParameters(values string, hasSecret bool) string {
	if hasSecret {
		return maskValue(values)
	}
	return MaskText(values)
}

func (p period) prepareQuery(q *Query) {
	text, hasSecret := maskQuery(q.Text)
	values := maskParameters(q.Values, hasSecret)
	if text != q.Text || values != q.Values {
		// Different secrets may look the same now.
		q.ValuesKnown = false
	}
	q.At = p.bound(q.At)
	q.System = cutName(q.System)
	q.Text = cutText(text)
	q.Values = cutText(values)
	q.Shape = cutText(q.Shape)
	if q.Shape == "" {
		q.Shape, _ = Shape(q.Text)
	}
	if q.Table == "" {
		q.Table = Table(q.Text)
	}
	q.Table = cutName(q.Table)
}

// withoutEscapes returns a text without the sequences that give colors to a terminal.
func withoutEscapes(text string) string {
	const introducer = "\x1b["
	if !strings.Contains(text, introducer) {
		return text
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, introducer)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		isFinal := func(r rune) bool { return r >= '@' && r <= '~' }
		end := strings.IndexFunc(after, isFinal)
		if end < 0 {
			return b.String()
		}
		text = after[end+1:]
	}
}

// cutText returns the text, at most MaxText, and correct UTF-8. It does not keep a longer text alive.
func cutText(text string) string { return cut(text, MaxText) }

// cutName is cutText for a name, which is short.
func cutName(name string) string { return cut(name, maxName) }

func cut(text string, most int) string {
	if len(text) > most {
		text = strings.Clone(text[:most])
	}
	return strings.ToValidUTF8(text, "?")
}
