package inbound

import (
	"slices"

	"bareclaw/adapters/telegram/markdown"

	"github.com/go-telegram/bot/models"
)

const (
	// splitFrom is the minimum length of the first part of a text that was split by a
	// client. Clients cut at the end of a line or word near the limit.
	splitFrom = 3500
	// splitApart is how many seconds may lie between two parts, by Telegram's clock.
	splitApart = 2
	// maxSplit bounds the parts of one message.
	maxSplit = 50
)

// A Splitter recognises long texts that were split by a client into several messages.
type Splitter struct {
	// Own reports whether a message is for the bot itself, and thus never part of a text.
	Own func(*models.Message) bool
}

// unfinished reports whether a message may be part of a longer text, and not the last
// part.
func (s Splitter) unfinished(m *models.Message) bool {
	return isPart(m) && len(m.Text) >= splitFrom && markdown.Length(m.Text) >= splitFrom && !s.Own(m)
}

// isPart reports whether a message may be part of a longer text at all: only text, and
// written by the sender.
func isPart(m *models.Message) bool {
	return m != nil && m.Text != "" && m.From != nil && m.ForwardOrigin == nil && m.ExternalReply == nil && m.MediaGroupID == ""
}

// continues reports whether a message is the next part of a text.
func (s Splitter) continues(m, before *models.Message) bool {
	if !s.unfinished(before) || !isPart(m) || m.From.ID != before.From.ID || m.ReplyToMessage != nil && before.ReplyToMessage == nil {
		return false
	}
	return !s.Own(m) && m.Date-before.Date <= splitApart
}

// Parts returns how many of the first messages form one text, and whether another part
// may follow.
func (s Splitter) Parts(ms []*models.Message) (n int, more bool) {
	n = 1
	for n < min(len(ms), maxSplit) && s.continues(ms[n], ms[n-1]) {
		n++
	}
	return n, n < maxSplit && s.unfinished(ms[n-1])
}

// Join makes a single message of the parts of a text. Join reunites a format cut in two
// by the client.
func Join(ms []*models.Message) *models.Message {
	whole := *ms[0]
	whole.Entities = slices.Clone(whole.Entities)
	length := markdown.Length(whole.Text)
	for i, m := range ms[1:] {
		if markdown.Length(ms[i].Text) < markdown.MaxUnits { // cut at a space, omitted by the client
			whole.Text += "\n"
			length++
		}
		for _, e := range m.Entities {
			e.Offset += length
			before := slices.IndexFunc(whole.Entities, func(b models.MessageEntity) bool {
				end := b.Offset + b.Length // before a line break
				return e.Offset == length && b.Type == e.Type && b.URL == e.URL && b.Language == e.Language && end <= length && end >= length-1
			})
			if before < 0 {
				whole.Entities = append(whole.Entities, e)
			} else {
				whole.Entities[before].Length = e.Offset + e.Length - whole.Entities[before].Offset
			}
		}
		whole.Text += m.Text
		length += markdown.Length(m.Text)
	}
	return &whole
}
