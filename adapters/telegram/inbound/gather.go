package inbound

import (
	"slices"
	"strings"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/media"

	"github.com/go-telegram/bot/models"
)

const (
	// maxAlbum is the most messages of an album:
	// https://core.telegram.org/bots/api#sendmediagroup
	maxAlbum = 10
	// splitFrom is the minimum length of the first part of a text that was split by a
	// client. Clients cut at the end of a line or word near the limit.
	splitFrom = 3500
	// splitApart is how many seconds may lie between two parts, by Telegram's clock.
	splitApart = 2
	// bundleApart is the same between two messages that were sent together.
	bundleApart = 1
	// maxMessages bounds what is one message: clients forward 100 messages at once.
	maxMessages = 101
)

// A Next says what may be next of several messages that form one.
type Next int

// What may be next.
const (
	Nothing Next = iota
	Bundled      // another message that was sent together with them
	Part         // the next part of an album or a text
)

// A Gatherer recognises which messages form one: the parts of a long text or an album, which
// clients send separately, and what one person has sent at once, such as a comment and the messages
// forwarded with it.
type Gatherer struct {
	// Own reports whether a message is for the bot itself, and thus always alone.
	Own func(*models.Message) bool
}

// SameSender reports whether two messages are of the same person.
func SameSender(m, other *models.Message) bool {
	id := func(m *models.Message) (user, chat int64) {
		if m.From != nil {
			user = m.From.ID
		}
		if m.SenderChat != nil {
			chat = m.SenderChat.ID
		}
		return user, chat
	}
	user, chat := id(m)
	otherUser, otherChat := id(other)
	return user == otherUser && chat == otherChat
}

// Continues reports whether a message of the same sender belongs to the messages before. What Next does
// not wait for does not belong to them either, whenever it arrives: after a crash the next process must
// find no fewer messages together than were submitted.
func (g Gatherer) Continues(m *models.Message, before []*models.Message) bool {
	last := before[len(before)-1]
	switch {
	case len(before) >= maxMessages:
		return false
	case m.MediaGroupID != "" && m.MediaGroupID == last.MediaGroupID:
		return albumSize(before) < maxAlbum
	case g.continuesText(m, last):
		return true
	}
	return g.bundles(m) && g.bundles(last) && !isReply(last) && m.Date-last.Date <= bundleApart && (!IsTypedText(m) || !IsTypedText(last))
}

// IsTypedText reports whether a message is only a text that its sender has typed. Two of these are
// never sent at once.
func IsTypedText(m *models.Message) bool { return m.Text != "" && isTyped(m) && m.RichMessage == nil }

// Next returns what may be next of messages that form one. A reply is sent alone: clients forward
// nothing with it.
func (g Gatherer) Next(ms []*models.Message) Next {
	last := ms[len(ms)-1]
	switch {
	case len(ms) >= maxMessages:
		return Nothing
	case last.MediaGroupID != "" && albumSize(ms) < maxAlbum, g.unfinished(last):
		return Part
	case g.bundles(last) && !isReply(last):
		return Bundled
	}
	return Nothing
}

func albumSize(ms []*models.Message) int {
	n := 0
	for _, m := range slices.Backward(ms) {
		if m.MediaGroupID != ms[len(ms)-1].MediaGroupID {
			break
		}
		n++
	}
	return n
}

// bundles reports whether a message may be one of several that were sent at once. Commands, of the
// bot and of Claude, are alone.
func (g Gatherer) bundles(m *models.Message) bool {
	if m.From == nil || m.SenderChat != nil || IsService(m) || g.Own(m) {
		return false
	}
	if _, hasFile := media.FileOf(m); hasFile || !isTyped(m) {
		return true
	}
	text := strings.TrimSpace(m.Text)
	if strings.HasPrefix(text, "@") { // the name of the bot
		_, text, _ = strings.Cut(text, " ")
	}
	return !strings.HasPrefix(strings.TrimSpace(text), "/")
}

// Units returns the messages of each part of what one person has sent: of an album all, of a long
// text a single message.
func (g Gatherer) Units(ms []*models.Message) [][]*models.Message {
	var units [][]*models.Message
	for len(ms) > 0 {
		n := 1
		for n < len(ms) && ms[0].MediaGroupID != "" && ms[n].MediaGroupID == ms[0].MediaGroupID {
			n++
		}
		unit := ms[:n]
		if n == 1 {
			for n < len(ms) && g.continuesText(ms[n], ms[n-1]) {
				n++
			}
			if n > 1 {
				unit = []*models.Message{Join(ms[:n])}
			}
		}
		units, ms = append(units, unit), ms[n:]
	}
	return units
}

func isReply(m *models.Message) bool {
	return m.ReplyToMessage != nil && m.ReplyToMessage.ForumTopicCreated == nil || m.ExternalReply != nil
}

// unfinished reports whether a message may be part of a longer text, and not the last
// part.
func (g Gatherer) unfinished(m *models.Message) bool {
	return isPart(m) && len(m.Text) >= splitFrom && markdown.Length(m.Text) >= splitFrom && !g.Own(m)
}

// isPart reports whether a message may be part of a longer text at all: only text, and
// written by the sender.
func isPart(m *models.Message) bool {
	return m != nil && m.Text != "" && m.From != nil && isTyped(m) && m.ExternalReply == nil && m.MediaGroupID == ""
}

// continuesText reports whether a message is the next part of a text.
func (g Gatherer) continuesText(m, before *models.Message) bool {
	if !g.unfinished(before) || !isPart(m) || m.From.ID != before.From.ID || m.ReplyToMessage != nil && before.ReplyToMessage == nil {
		return false
	}
	return !g.Own(m) && m.Date-before.Date <= splitApart
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
