package telegram

import (
	"bareclaw/internal/humanize"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/go-telegram/bot/models"
)

// maxQuote is how much is repeated of a message that is replied to, in characters:
// enough to know which it was.
const maxQuote = 500

// A said is what a message says, before its files are there.
type said struct {
	lead  string  // whom it is from that was forwarded, and what it replies to
	text  string  // what was written, as a text or a caption
	facts string  // what is no text and no file, in words
	files []media // what was sent with it, then what came with the message it replies to
	empty bool    // it says nothing that is understood here
}

// read reads a message. bot is the user name of the bot, which need not be told that
// it is spoken to.
func read(m *models.Message, bot string) said {
	s := said{text: writtenText(m, bot), facts: facts(m)}
	if f, ok := mediaOf(m); ok {
		s.files = append(s.files, f)
	}
	if strings.TrimSpace(s.text) == "" {
		s.text = ""
	}
	s.empty = s.text == "" && s.facts == "" && len(s.files) == 0
	if strings.HasPrefix(s.text, "/") && len(s.files) == 0 && m.ForwardOrigin == nil {
		return s // a command of the agent, which it knows by its first character
	}
	s.lead = unforged(forwarded(m) + quoted(m))
	if m.ForwardOrigin != nil {
		s.text, s.facts = unforged(s.text), unforged(s.facts)
	}
	if r := m.ReplyToMessage; r != nil && r.Chat.ID == m.Chat.ID {
		if f, ok := mediaOf(r); ok {
			f.quoted = true
			s.files = append(s.files, f)
		}
	}
	return s
}

// writtenText returns what was written in a message, as Markdown; but as it is where
// that begins with a slash, which may make it a command of the agent.
func writtenText(m *models.Message, bot string) string {
	text, entities := m.Text, m.Entities
	if text == "" {
		text, entities = m.Caption, m.CaptionEntities
	}
	if strings.HasPrefix(unaddressed(text, bot), "/") {
		return unaddressed(text, bot)
	}
	return unaddressed(writtenMarkdown(text, entities), bot)
}

// speaker begins the line by which the core tells the agent who speaks.
var speaker = regexp.MustCompile(`(?i)\[(\s*channel\s*:)`)

// unforged makes sure that what others have written, who are not listened to, does not
// look as if somebody else spoke from there on.
func unforged(text string) string { return speaker.ReplaceAllString(text, "($1") }

// lines makes all that ends a line a newline.
var lines = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// unaddressed takes away that the bot is spoken to: a leading "@name", and the one
// that follows a command.
func unaddressed(text, bot string) string {
	first, rest := firstWord(text)
	switch name, at, ok := strings.Cut(first, "@"); {
	case !ok || bot == "":
	case name == "" && strings.EqualFold(strings.TrimRight(at, ",:"), bot):
		return strings.TrimLeftFunc(rest, unicode.IsSpace)
	case strings.HasPrefix(name, "/") && strings.EqualFold(at, bot):
		return name + rest
	}
	return text
}

// forOther reports whether a text is a command for another bot of the group. The
// names of bots end in "bot": https://core.telegram.org/bots/features#botfather
func forOther(text, bot string) bool {
	first, _ := firstWord(text)
	name, at, ok := strings.Cut(first, "@")
	return ok && bot != "" && len(name) > 1 && name[0] == '/' && !strings.Contains(name[1:], "/") &&
		strings.HasSuffix(strings.ToLower(at), "bot") && !strings.EqualFold(at, bot)
}

// firstWord cuts a text before its first space.
func firstWord(text string) (word, rest string) {
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		return text[:i], text[i:]
	}
	return text, ""
}

// forwarded says whom a forwarded message is from.
func forwarded(m *models.Message) string {
	if m.ForwardOrigin == nil {
		return ""
	}
	return "Forwarded from " + originName(m.ForwardOrigin) + ":\n"
}

func originName(o *models.MessageOrigin) string {
	name := ""
	switch {
	case o.MessageOriginUser != nil:
		name = fullName(&o.MessageOriginUser.SenderUser)
	case o.MessageOriginHiddenUser != nil:
		name = o.MessageOriginHiddenUser.SenderUserName
	case o.MessageOriginChat != nil:
		name = o.MessageOriginChat.SenderChat.Title
	case o.MessageOriginChannel != nil:
		name = o.MessageOriginChannel.Chat.Title
	}
	return orUnknown(oneLine(name))
}

func orUnknown(name string) string {
	if name == "" {
		return "somebody"
	}
	return name
}

// quoted repeats what a message replies to, with who said it.
func quoted(m *models.Message) string {
	who, text := "", ""
	switch r, x := m.ReplyToMessage, m.ExternalReply; {
	case r != nil && r.ForumTopicCreated == nil:
		if who = "somebody"; r.From != nil {
			who = orUnknown(oneLine(fullName(r.From)))
		}
		if r.SenderChat != nil {
			who = orUnknown(oneLine(r.SenderChat.Title))
		}
		text = gist(r)
	case x != nil:
		who = originName(&x.Origin)
	}
	if m.Quote != nil {
		text = m.Quote.Text
	}
	if who == "" {
		return ""
	}
	if text = humanize.Shorten(strings.TrimSpace(lines.Replace(text)), maxQuote); text == "" {
		return "In reply to " + who + ".\n\n"
	}
	return "In reply to " + who + ":\n> " + strings.ReplaceAll(text, "\n", "\n> ") + "\n\n"
}

// gist is what a message says, in words only.
func gist(m *models.Message) string {
	text := m.Text
	if text == "" {
		text = m.Caption
	}
	if f, ok := mediaOf(m); ok {
		text = strings.TrimRight("("+f.kind+") "+text, " ")
	}
	if text == "" {
		text = facts(m)
	}
	return text
}

// facts says in words what is no text and no file.
func facts(m *models.Message) string {
	switch {
	case m.Contact != nil:
		c := m.Contact
		return fmt.Sprintf("Contact: %s, %s", oneLine(strings.TrimSpace(c.FirstName+" "+c.LastName)), oneLine(c.PhoneNumber))
	case m.Venue != nil: // it has a location as well
		v := m.Venue
		return fmt.Sprintf("Venue: %s, %s (%g, %g)", oneLine(v.Title), oneLine(v.Address), v.Location.Latitude, v.Location.Longitude)
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
		return "Sticker received: " + stickerName(m.Sticker, how)
	}
	return ""
}

// stickerName is a sticker's emoji, and in brackets what else is known of it.
func stickerName(s *models.Sticker, how string) string {
	var known []string
	if how != "" {
		known = append(known, how)
	}
	if s.SetName != "" {
		known = append(known, "set: "+s.SetName)
	}
	text := s.Emoji
	if len(known) > 0 {
		text += " (" + strings.Join(known, ", ") + ")"
	}
	return strings.TrimSpace(text)
}

// isService reports whether a message only tells of something that happened to the
// chat: nobody has said anything.
func isService(m *models.Message) bool {
	for _, happened := range []bool{
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
	} {
		if happened {
			return true
		}
	}
	return false
}

func fullName(u *models.User) string { return strings.TrimSpace(u.FirstName + " " + u.LastName) }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
