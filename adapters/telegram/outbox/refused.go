package outbox

import (
	"errors"
	"strings"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"
	"bareclaw/internal/mdtext"

	"github.com/go-telegram/bot"
)

// A Reducible is a Part that can also be sent with less in it, since Telegram may refuse a part
// for a reason that nobody has foreseen.
type Reducible interface {
	// Reduced returns the other ways to send the part, the best first.
	Reduced() []Part
}

// hopeless are the words of refusals that are about the chat, so that no other message is taken
// either.
var hopeless = []string{
	"chat not found", "not enough rights", "have no rights", "need administrator rights", "chat_write_forbidden", "peer_id_invalid",
	"user not found", "user is deactivated", "group chat was deactivated", "chat_restricted", "topic_closed", "topic_deleted", "thread not found",
}

// isRefusedPart reports whether Telegram refused what is sent, and not the chat.
func isRefusedPart(err error) bool {
	moved := (*bot.MigrateError)(nil)
	return botapi.Refused(err, "") && !errors.Is(err, ErrUndeliverable) && !errors.As(err, &moved) && !botapi.Refused(err, hopeless...)
}

// otherWays returns the other ways to send a part of a delivery that Telegram refused, and last a
// note that says so. A push has no such note: its sender is told.
func otherWays(part Part, d *core.Delivery, why error) []Part {
	var ways []Part
	if r, ok := part.(Reducible); ok {
		ways = r.Reduced()
	}
	if c, ok := part.(*Change); d.Kind == KindPush || ok && (c.Delete || c.Message == 0) {
		return ways
	}
	text := "⚠️ A message could not be shown here: Telegram refused it (" + mdtext.Brief(strings.TrimPrefix(why.Error(), "bad request, "), 300) + "). " +
		"On the gateway's machine, bareclaw messages " + string(d.Channel) + " shows the answers of this chat."
	return append(ways, &Text{Document: markdown.Plain(text)})
}

// Reduced implements Reducible: the text alone, and then a file. A request for a decision needs its
// buttons, which are left out last.
func (t *Text) Reduced() []Part {
	plain := Text{Document: markdown.Document{Text: t.Text}, Replace: t.Replace}
	var ways []Part
	if len(t.Buttons) > 0 {
		asking := plain
		asking.Buttons = t.Buttons
		ways = append(ways, &asking)
	}
	ways = append(ways, &plain)
	if t.Replace != 0 {
		ways = append(ways, &Text{Document: plain.Document})
	}
	return append(ways, &File{Name: "message.txt", Content: t.Text, Caption: "Telegram did not take this as a message."})
}

// Reduced implements Reducible: the same change without formats, then a new message.
func (e *Change) Reduced() []Part {
	pieces := e.Text.Split(markdown.MaxUnits)
	if e.Delete || e.Message == 0 || len(pieces) == 0 {
		return nil
	}
	plain := *e
	plain.Text = Text{Document: markdown.Document{Text: pieces[0].Text}, Buttons: e.Text.Buttons}
	anew := Text{Document: pieces[0], Buttons: e.Text.Buttons}
	return append([]Part{&plain}, anew.Reduced()...)
}
