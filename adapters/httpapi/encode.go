package httpapi

import (
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/core"
	"bareclaw/internal/humanize"
)

// stampLayout is RFC 3339 in UTC with microseconds.
const stampLayout = "2006-01-02T15:04:05.000000Z07:00"

// stamp returns a time as it is shown everywhere; empty for the zero time.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(stampLayout)
}

// quote appends a JSON string. What is not UTF-8 becomes the replacement
// character.
func quote[S ~string](b []byte, s S) []byte {
	b, _ = jsontext.AppendQuote(b, s) // the error only reports the replacement
	return b
}

// appendMessage appends a message as the API shows it, with a short prompt.
func appendMessage(b []byte, m *core.Message, at core.Place) []byte {
	p := m.Prompt.Short()
	return appendWithPrompt(b, m, at, &p)
}

// appendWhole is appendMessage with the whole prompt, for an answer about one message.
func appendWhole(b []byte, m *core.Message, at core.Place) []byte {
	return appendWithPrompt(b, m, at, &m.Prompt)
}

// appendWithPrompt is written by hand because every answer takes this way.
func appendWithPrompt(b []byte, m *core.Message, at core.Place, p *core.Prompt) []byte {
	b = quote(append(b, `{"message_id":`...), m.ID)
	b = quote(append(b, `,"channel":`...), m.Channel)
	b = quote(append(b, `,"state":`...), m.State)
	b = appendPrompt(b, p, m.Origin.User)
	if m.State.Final() {
		b = appendReply(b, &m.Reply)
	}
	b = member(b, `,"session_id":`, m.Reply.SessionID)
	b = member(b, `,"turn_id":`, m.Turn)
	b = member(b, `,"adapter":`, m.Adapter)
	b = member(b, `,"retry_of":`, m.RetryOf)
	if at.Position > 0 {
		b = strconv.AppendInt(append(b, `,"position":`...), int64(at.Position), 10)
	}
	b = member(b, `,"why":`, at.Why)
	b = moment(b, `,"until":`, at.Until)
	b = moment(b, `,"received_at":`, m.ReceivedAt)
	b = moment(b, `,"ended_at":`, m.EndedAt)
	return append(b, '}')
}

// appendReply appends what is there only once a message has its outcome; text,
// is_error and duration_ms always are then.
func appendReply(b []byte, r *core.Reply) []byte {
	b = slices.Grow(b, len(r.Text)+len(r.Text)/16+512) // a long text would grow it many times
	b = quote(append(b, `,"text":`...), r.Text)
	b = strconv.AppendBool(append(b, `,"is_error":`...), r.IsError)
	b = strconv.AppendInt(append(b, `,"duration_ms":`...), r.Duration.Milliseconds(), 10)
	if r.Coalesced {
		b = append(b, `,"coalesced":true`...)
	}
	b = member(b, `,"into":`, r.Into)
	if r.CostUSD > 0 {
		b = strconv.AppendFloat(append(b, `,"cost_usd":`...), humanize.RoundUSD(r.CostUSD), 'g', -1, 64)
	}
	b = member(b, `,"error":`, r.Error)
	b = member(b, `,"code":`, r.Code)
	for i, n := range r.Notices {
		if i == 0 {
			b = append(b, `,"notices":[`...)
		} else {
			b = append(b, ',')
		}
		b = appendNotice(b, n)
	}
	if len(r.Notices) > 0 {
		b = append(b, ']')
	}
	return b
}

func appendNotice(b []byte, n core.Notice) []byte {
	b = quote(append(b, `{"code":`...), n.Code)
	b = quote(append(b, `,"text":`...), n.Text)
	return append(b, '}')
}

// member appends a string unless it is empty.
func member[S ~string](b []byte, name string, s S) []byte {
	if s == "" {
		return b
	}
	return quote(append(b, name...), s)
}

func moment(b []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	b = append(append(b, name...), '"')
	return append(t.UTC().AppendFormat(b, stampLayout), '"')
}
