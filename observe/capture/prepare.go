package capture

import "strings"

// prepare returns the signal with its texts masked and cut. It changes nothing that the signal points to.
func prepare(signal Signal) Signal {
	if signal.Query != nil {
		q := *signal.Query
		text, hasSecret := maskQuery(q.Text)
		values := maskParameters(q.Values, hasSecret)
		if text != q.Text || values != q.Values {
			// Different secrets may look the same now.
			q.ValuesKnown = false
		}
		q.Text = cutText(text)
		q.Values = cutText(values)
		if q.Shape == "" {
			q.Shape, _ = Shape(q.Text)
		}
		if q.Table == "" {
			q.Table = Table(q.Text)
		}
		signal.Query = &q
	}
	if signal.Fetch != nil {
		f := *signal.Fetch
		f.URL = cutText(MaskURL(f.URL))
		signal.Fetch = &f
	}
	if signal.Log != nil {
		l := *signal.Log
		l.Level = strings.ToLower(l.Level)
		l.Text = cutText(MaskText(withoutEscapes(l.Text)))
		signal.Log = &l
	}
	if signal.Fault != nil {
		f := *signal.Fault
		f.Name = cutText(MaskText(f.Name))
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
func cutText(text string) string {
	if len(text) > MaxText {
		text = strings.Clone(text[:MaxText])
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
