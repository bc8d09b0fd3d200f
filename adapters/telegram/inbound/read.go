// Package inbound makes the content of a submission from the messages of people: text
// with formatting, replies, forwards, files and the rest.
package inbound

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/media"
	"bareclaw/internal/humanize"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/visible"

	"github.com/go-telegram/bot/models"
)

// maxQuote bounds the quote of a replied-to message, in characters: enough to recognise
// the message.
const maxQuote = 500

type reading struct {
	lead  string       // sender of a forwarded message, and the replied-to message
	text  string       // text or caption
	facts string       // description of contents other than text and files
	files []media.File // of the message, then of the replied-to message
	empty bool         // the message has no understood content
}

func (r *Reader) read(m *models.Message) reading {
	s := reading{text: r.Text(m), facts: r.ofOthers(Facts(m))}
	if f, ok := media.FileOf(m); ok {
		s.files = append(s.files, f)
	}
	if strings.TrimSpace(s.text) == "" {
		s.text = ""
	}
	s.empty = s.text == "" && s.facts == "" && len(s.files) == 0
	if strings.HasPrefix(s.text, "/") && len(s.files) == 0 && isTyped(m) {
		return s // a command of Claude, recognised by the first character
	}
	s.lead = r.ofOthers(passedOn(m) + quoted(m))
	if to := repliedTo(m); to != nil {
		if f, ok := media.FileOf(to); ok {
			f.Quoted = true
			s.files = append(s.files, f)
		}
	}
	return s
}

// repliedTo returns the replied-to message, of this chat or of another one; nil without any. Of a
// message of another chat, what Telegram tells makes a message.
func repliedTo(m *models.Message) *models.Message {
	to, x := m.ReplyToMessage, m.ExternalReply
	switch {
	case to != nil && to.Chat.ID == m.Chat.ID:
		return to
	case to != nil || x == nil:
		return nil
	}
	return &models.Message{
		ID:        x.MessageID,
		Date:      sentAt(&x.Origin),
		Animation: x.Animation,
		Audio:     x.Audio,
		Document:  x.Document,
		Photo:     x.Photo,
		Sticker:   x.Sticker,
		Video:     x.Video,
		VideoNote: x.VideoNote,
		Voice:     x.Voice,
		Checklist: x.Checklist,
		Contact:   x.Contact,
		Dice:      x.Dice,
		Location:  x.Location,
		Poll:      x.Poll,
		Venue:     x.Venue,
		Story:     x.Story,
		Game:      x.Game,
		Invoice:   x.Invoice,
		Giveaway:  x.Giveaway,
		PaidMedia: x.PaidMedia,
	}
}

func sentAt(o *models.MessageOrigin) int {
	switch {
	case o.MessageOriginUser != nil:
		return o.MessageOriginUser.Date
	case o.MessageOriginHiddenUser != nil:
		return o.MessageOriginHiddenUser.Date
	case o.MessageOriginChat != nil:
		return o.MessageOriginChat.Date
	case o.MessageOriginChannel != nil:
		return o.MessageOriginChannel.Date
	}
	return 0
}

// Text returns the text or caption of a message as Markdown, without the name of the bot
// where it only addresses the bot; a text beginning with a slash is returned unformatted, as a
// possible command of Claude.
func (r *Reader) Text(m *models.Message) string {
	text, entities := m.Text, m.Entities
	if text == "" {
		text, entities = m.Caption, m.CaptionEntities
	}
	if text == "" {
		text = richText(m.RichMessage)
	}
	bot := r.BotName()
	if !strings.HasPrefix(chats.Unaddressed(text, bot), "/") {
		text = entitiesMarkdown(text, entities)
	}
	text = chats.Unaddressed(text, bot)
	if !isTyped(m) {
		return r.ofOthers(text)
	}
	return text
}

// isTyped reports whether the sender has written the text of a message.
func isTyped(m *models.Message) bool { return m.ForwardOrigin == nil && m.ViaBot == nil }

// ofOthers returns a text that the sender has not typed as Claude gets the text: nothing in it
// is hidden, and nothing is an instruction to the program.
func (r *Reader) ofOthers(text string) string {
	return r.Inert(visible.Prose(newlines.Replace(text)))
}

var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// passedOn says whose text the sender passes on.
func passedOn(m *models.Message) string {
	switch {
	case m.ForwardOrigin != nil:
		return "Forwarded from " + originName(m.ForwardOrigin) + ":\n"
	case m.ViaBot != nil:
		return "Made with the bot " + orSomebody(m.ViaBot.Username) + ":\n"
	}
	return ""
}

func originName(o *models.MessageOrigin) string {
	name := ""
	switch {
	case o.MessageOriginUser != nil:
		name = chats.FullName(&o.MessageOriginUser.SenderUser)
	case o.MessageOriginHiddenUser != nil:
		name = o.MessageOriginHiddenUser.SenderUserName
	case o.MessageOriginChat != nil:
		name = o.MessageOriginChat.SenderChat.Title
	case o.MessageOriginChannel != nil:
		name = o.MessageOriginChannel.Chat.Title
	}
	return orSomebody(name)
}

func orSomebody(name string) string { return cmp.Or(mdtext.OneLine(name), "somebody") }

func quoted(m *models.Message) string {
	who, text := "", ""
	switch r, x := m.ReplyToMessage, m.ExternalReply; {
	case r != nil && r.ForumTopicCreated == nil:
		if who = "somebody"; r.From != nil {
			who = orSomebody(chats.FullName(r.From))
		}
		if r.SenderChat != nil {
			who = orSomebody(r.SenderChat.Title)
		}
		text = gist(r)
	case x != nil:
		who, text = originName(&x.Origin), gist(repliedTo(m))
	}
	if m.Quote != nil {
		text = m.Quote.Text
	}
	if who == "" {
		return ""
	}
	if text = humanize.Shorten(strings.TrimSpace(newlines.Replace(text)), maxQuote); text == "" {
		return "In reply to " + who + ".\n\n"
	}
	return "In reply to " + who + ":\n> " + strings.ReplaceAll(text, "\n", "\n> ") + "\n\n"
}

func gist(m *models.Message) string {
	text := cmp.Or(m.Text, m.Caption, richText(m.RichMessage))
	if f, ok := media.FileOf(m); ok {
		text = strings.TrimRight("("+f.Kind+") "+text, " ")
	}
	return cmp.Or(text, Facts(m), unshown(m))
}

// unshown names what a replied-to message has where nothing of it can be told.
func unshown(m *models.Message) string {
	switch {
	case m.Story != nil:
		return "(story)"
	case m.PaidMedia != nil:
		return "(paid photos or videos)"
	case m.Game != nil:
		return "(game)"
	case m.Invoice != nil:
		return "(invoice)"
	case m.Giveaway != nil:
		return "(giveaway)"
	}
	return ""
}

// Facts describes the contents other than text and files.
func Facts(m *models.Message) string {
	switch {
	case m.Contact != nil:
		c := m.Contact
		return fmt.Sprintf("Contact: %s, %s", mdtext.OneLine(strings.TrimSpace(c.FirstName+" "+c.LastName)), mdtext.OneLine(c.PhoneNumber))
	case m.Venue != nil: // has a location as well
		v := m.Venue
		return fmt.Sprintf("Venue: %s, %s (%g, %g)", mdtext.OneLine(v.Title), mdtext.OneLine(v.Address), v.Location.Latitude, v.Location.Longitude)
	case m.Location != nil:
		return fmt.Sprintf("Location: %g, %g", m.Location.Latitude, m.Location.Longitude)
	case m.Poll != nil:
		text := "Poll: " + m.Poll.Question
		for _, o := range m.Poll.Options {
			text += "\n- " + o.Text
		}
		return text
	case m.Checklist != nil:
		text := "Checklist: " + m.Checklist.Title
		for _, t := range m.Checklist.Tasks {
			box := "[ ]"
			if t.CompletionDate != 0 {
				box = "[x]"
			}
			text += "\n- " + box + " " + t.Text
		}
		return text
	case m.Dice != nil:
		return fmt.Sprintf("Dice: %s %d", m.Dice.Emoji, m.Dice.Value)
	case m.Sticker != nil && (m.Sticker.IsAnimated || m.Sticker.IsVideo):
		how := "animated"
		if m.Sticker.IsVideo {
			how = "video"
		}
		return "Sticker received: " + media.StickerName(m.Sticker, how)
	}
	return ""
}

// IsService reports whether a message only reports an event in the chat.
func IsService(m *models.Message) bool {
	return slices.Contains([]bool{
		len(m.NewChatMembers) > 0, m.LeftChatMember != nil, m.NewChatTitle != "", len(m.NewChatPhoto) > 0, m.DeleteChatPhoto,
		m.GroupChatCreated, m.SupergroupChatCreated, m.ChannelChatCreated, m.MessageAutoDeleteTimerChanged != nil,
		m.MigrateToChatID != 0, m.MigrateFromChatID != 0, m.PinnedMessage != nil, m.SuccessfulPayment != nil, m.RefundedPayment != nil,
		m.UsersShared != nil, m.ChatShared != nil, m.ConnectedWebsite != "", m.WriteAccessAllowed != nil, m.PassportData != nil,
		m.ProximityAlertTriggered != nil, m.BoostAdded != nil, m.ChatBackgroundSet != nil, m.ChecklistTasksDone != nil,
		m.ChecklistTasksAdded != nil, m.DirectMessagePriceChanged != nil, m.ForumTopicCreated != nil, m.ForumTopicEdited != nil,
		m.ForumTopicClosed != nil, m.ForumTopicReopened != nil, m.GeneralForumTopicHidden != nil, m.GeneralForumTopicUnhidden != nil,
		m.GiveawayCreated != nil, m.GiveawayCompleted != nil, m.PaidMessagePriceChanged != nil, m.ChatOwnerLeft != nil,
		m.ChatOwnerChanged != nil, m.CommunityChatAdded != nil, m.CommunityChatJoined != nil, m.CommunityChatRemoved != nil,
		m.SuggestedPostApproved != nil, m.SuggestedPostApprovalFailed != nil, m.SuggestedPostDeclined != nil,
		m.SuggestedPostPaid != nil, m.SuggestedPostRefunded != nil, m.VideoChatScheduled != nil, m.VideoChatStarted != nil,
		m.VideoChatEnded != nil, m.VideoChatParticipantsInvited != nil, m.ManagedBotCreated != nil, m.PollOptionAdded != nil,
		m.PollOptionDeleted != nil, m.Gift != nil, m.UniqueGift != nil, m.GiftUpgradeSent != nil,
	}, true)
}
