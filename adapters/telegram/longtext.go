package telegram

import (
	"slices"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"
)

const (
	// splitFrom is from which length on a text may be the beginning of a longer one that
	// a client has split. Clients cut at the end of a line or a word where there is one
	// near the limit, so that a part is shorter than maxText.
	splitFrom = 3500
	// splitApart is how many seconds may lie between two parts, by Telegram's clock, which
	// counts whole ones.
	splitApart = 2
	// maxSplit is how many parts are one message at most.
	maxSplit = 50
)

// textLength returns the length of a text in UTF-16 units, as Telegram counts.
func textLength(text string) int { return len(utf16.Encode([]rune(text))) }

// splits reports whether a message may be a part of a longer text, and not its last one.
// What is for the bot itself is done at once and by itself, however long it is.
func (a *Adapter) splits(m *models.Message) bool {
	return a.partOfText(m) && len(m.Text) >= splitFrom && textLength(m.Text) >= splitFrom &&
		!a.callsCommand(m) && (m.ReplyToMessage == nil || approvalBelow(m.ReplyToMessage) == "")
}

// callsCommand reports whether a message calls one of the bot's own commands.
func (a *Adapter) callsCommand(m *models.Message) bool {
	name, _, _, ok := parseCommand(m, a.health.name())
	if ok {
		_, ok = a.commandCalled(name)
	}
	return ok
}

// partOfText reports whether a message may be a part of a longer text at all: it is
// nothing but text, and of somebody's own.
func (a *Adapter) partOfText(m *models.Message) bool {
	return m != nil && m.Text != "" && m.From != nil && m.ForwardOrigin == nil && m.ExternalReply == nil && m.MediaGroupID == ""
}

// continues reports whether a message is the next part of a text.
func (a *Adapter) continues(m, before *models.Message) bool {
	if !a.splits(before) || !a.partOfText(m) || m.From.ID != before.From.ID || m.ReplyToMessage != nil && before.ReplyToMessage == nil {
		return false
	}
	return !a.callsCommand(m) && m.Date-before.Date <= splitApart
}

// textSize returns how many arrivals at the beginning are parts of one text, and whether
// another part may follow.
func (a *Adapter) textSize(waiting []*arrival) (n int, more bool) {
	n = 1
	for n < min(len(waiting), maxSplit) && a.continues(waiting[n].update.Message, waiting[n-1].update.Message) {
		n++
	}
	return n, n < maxSplit && a.splits(waiting[n-1].update.Message)
}

// joinedText makes one message of the parts of a text. A format that a client has cut
// in two is one again.
func joinedText(ms []*models.Message) *models.Message {
	whole := *ms[0]
	whole.Entities = slices.Clone(whole.Entities)
	length := textLength(whole.Text)
	for i, m := range ms[1:] {
		if textLength(ms[i].Text) < maxText { // cut at a space, which is not sent
			whole.Text += "\n"
			length++
		}
		for _, e := range m.Entities {
			e.Offset += length
			before := slices.IndexFunc(whole.Entities, func(b models.MessageEntity) bool {
				end := b.Offset + b.Length // before the line break, if there is one
				return e.Offset == length && b.Type == e.Type && b.URL == e.URL && b.Language == e.Language && end <= length && end >= length-1
			})
			if before < 0 {
				whole.Entities = append(whole.Entities, e)
			} else {
				whole.Entities[before].Length = e.Offset + e.Length - whole.Entities[before].Offset
			}
		}
		whole.Text += m.Text
		length += textLength(m.Text)
	}
	return &whole
}
