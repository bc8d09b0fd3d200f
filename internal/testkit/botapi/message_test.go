package botapi_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"bareclaw/internal/testkit/botapi"
)

func keyboard(rows ...[]fields) fields { return fields{"inline_keyboard": rows} }

func button(text, data string) fields { return fields{"text": text, "callback_data": data} }

func TestButtonsAndTaps(t *testing.T) {
	t.Parallel()
	clock := botapi.NewClock(time.Unix(1_800_000_000, 0))
	s, anna, chat := world(t, botapi.WithClock(clock.Now))
	b := newBot(t, s)
	m, err := b.SendMessage(t.Context(), &bot.SendMessageParams{ChatID: chat.ID(), Text: "Allow?", ReplyMarkup: &models.InlineKeyboardMarkup{
		InlineKeyboard: [][]models.InlineKeyboardButton{{{Text: "Yes", CallbackData: "y"}, {Text: "No", CallbackData: "n"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	tap := s.Tap(anna, m.ID, "No")
	u := updates(t, s, nil)[0]
	if u.ID != tap.UpdateID || u.Callback.ID != tap.ID || u.Callback.Data != "n" || u.Callback.Message.ID != m.ID {
		t.Errorf("update %+v", u.Callback)
	}
	if _, answered := tap.Answer(); answered {
		t.Error("answered already")
	}
	if _, err := b.AnswerCallbackQuery(t.Context(), &bot.AnswerCallbackQueryParams{CallbackQueryID: tap.ID, Text: "Denied", ShowAlert: true}); err != nil {
		t.Error(err)
	}
	if a, _ := tap.Answer(); a.Text != "Denied" || !a.Alert {
		t.Errorf("answer %+v", a)
	}
	refused(t, s, "answerCallbackQuery", fields{"callback_query_id": tap.ID, "text": repeat("x", 201)}, 400, "Bad Request: MESSAGE_TOO_LONG")
	const late = "Bad Request: query is too old and response timeout expired or query ID is invalid"
	refused(t, s, "answerCallbackQuery", fields{"callback_query_id": "1"}, 400, late)
	clock.Advance(time.Minute)
	refused(t, s, "answerCallbackQuery", fields{"callback_query_id": tap.ID}, 400, late)

	must(t, s, "editMessageReplyMarkup", fields{"chat_id": chat.ID(), "message_id": m.ID}, nil)
	if seen, _ := chat.Message(m.ID); len(seen.Buttons) != 0 || seen.Edits != 1 {
		t.Errorf("after the edit: %v", seen)
	}
	stale := chat.TapStale(anna, m.ID, "y")
	if got := updates(t, s, fields{"offset": -1}); len(got) != 1 || got[0].ID != stale.UpdateID {
		t.Errorf("stale tap: %+v", got)
	}
}

func TestTapNeedsTheButton(t *testing.T) {
	t.Parallel()
	s, err := botapi.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	anna := s.User(7, "Anna", "", "")
	chat := s.Private(anna)
	id := say(t, s, chat.ID(), "no buttons")
	defer func() {
		if recover() == nil {
			t.Error("a button that is not there was pressed")
		}
	}()
	chat.Tap(anna, id, "Yes")
}

func TestKeyboardRefused(t *testing.T) {
	t.Parallel()
	s, _, chat := world(t)
	row := []fields{}
	for range 9 {
		row = append(row, button("x", "y"))
	}
	var rows [][]fields
	for range 101 {
		rows = append(rows, []fields{button("x", "y")})
	}
	for _, tc := range []struct {
		markup any
		want   string
	}{
		{keyboard([]fields{button("x", repeat("é", 33))}), "BUTTON_DATA_INVALID"},
		{keyboard([]fields{button("x", "")}), "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"},
		{keyboard([]fields{button("", "y")}), "inline keyboard button text must be non-empty"},
		{keyboard([]fields{{"text": "x", "url": "http://localhost"}}), "inline keyboard button URL 'http://localhost' is invalid: Wrong HTTP URL"},
		{keyboard(row), "reply markup is too long"},
		{keyboard(rows...), "reply markup is too long"},
		{fields{"inline_keyboard": []fields{button("x", "y")}}, `field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays`},
		{"{", "can't parse reply keyboard markup JSON object"},
		{[]int{}, "object expected as reply markup"},
	} {
		refused(t, s, "sendMessage", fields{"chat_id": chat.ID(), "text": "hi", "reply_markup": tc.markup}, 400, "Bad Request: "+tc.want)
	}
	must(t, s, "sendMessage", fields{"chat_id": chat.ID(), "text": "hi", "reply_markup": keyboard([]fields{button("x", repeat("é", 32))})}, nil)
}

func TestEdits(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	id := say(t, s, chat.ID(), "one")
	edit := func(text string, markup any) fields {
		body := fields{"chat_id": chat.ID(), "message_id": id, "text": text}
		if markup != nil {
			body["reply_markup"] = markup
		}
		return body
	}
	const unchanged = "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"
	refused(t, s, "editMessageText", edit("one", nil), 400, unchanged)
	refused(t, s, "editMessageText", edit(" one\n", nil), 400, unchanged)
	must(t, s, "editMessageText", edit("one", keyboard([]fields{button("Stop", "s")})), nil)
	refused(t, s, "editMessageText", edit("one", keyboard([]fields{button("Stop", "s")})), 400, unchanged)
	must(t, s, "editMessageText", edit("two", nil), nil)
	seen, _ := chat.Message(id)
	if seen.Text != "two" || len(seen.Buttons) != 0 || seen.Edits != 2 {
		t.Errorf("seen %v", seen)
	}
	history := chat.History()
	if len(history) != 3 || history[0].Message.Text != "one" || history[1].Message.Buttons[0][0].Text != "Stop" || history[2].What != "edited" {
		t.Errorf("history %v", history)
	}
	hers := chat.Send(anna, "hers").MessageID
	refused(t, s, "editMessageText", fields{"chat_id": chat.ID(), "message_id": hers, "text": "x"}, 400, "Bad Request: message can't be edited")
	refused(t, s, "editMessageText", fields{"chat_id": chat.ID(), "message_id": 999, "text": "x"}, 400, "Bad Request: message to edit not found")
	refused(t, s, "editMessageText", edit("", nil), 400, "Bad Request: message text is empty")
	refused(t, s, "editMessageCaption", fields{"chat_id": chat.ID(), "message_id": id, "caption": "x"}, 400, "Bad Request: there is no caption in the message to edit")
	chat.DeleteMessage(id)
	refused(t, s, "editMessageText", edit("three", nil), 400, "Bad Request: message to edit not found")
}

func TestDelete(t *testing.T) {
	t.Parallel()
	clock := botapi.NewClock(time.Unix(1_800_000_000, 0))
	s, anna, chat := world(t, botapi.WithClock(clock.Now))
	group := s.Group(-20, "Group", anna)
	mine, hers := say(t, s, chat.ID(), "mine"), chat.Send(anna, "hers").MessageID
	for _, id := range []int{mine, hers} {
		must(t, s, "deleteMessage", fields{"chat_id": chat.ID(), "message_id": id}, nil)
		refused(t, s, "deleteMessage", fields{"chat_id": chat.ID(), "message_id": id}, 400, "Bad Request: message to delete not found")
	}
	chat.AwaitGone(mine)
	inGroup := group.Send(anna, "hers").MessageID
	refused(t, s, "deleteMessage", fields{"chat_id": -20, "message_id": inGroup}, 400, "Bad Request: message can't be deleted")
	old := say(t, s, chat.ID(), "old")
	clock.Advance(49 * time.Hour)
	refused(t, s, "deleteMessage", fields{"chat_id": chat.ID(), "message_id": old}, 400, "Bad Request: message can't be deleted for everyone")
	must(t, s, "pinChatMessage", fields{"chat_id": chat.ID(), "message_id": old}, nil)
	refused(t, s, "pinChatMessage", fields{"chat_id": chat.ID(), "message_id": 999}, 400, "Bad Request: message to pin not found")
	refused(t, s, "pinChatMessage", fields{"chat_id": -20, "message_id": inGroup}, 400, "Bad Request: not enough rights to manage pinned messages in the chat")
}

func TestReplies(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	id := chat.Send(anna, "question").MessageID
	must(t, s, "sendMessage", fields{"chat_id": chat.ID(), "text": "answer", "reply_parameters": fields{"message_id": id}}, nil)
	if got := chat.FromBot()[0].ReplyTo; got != id {
		t.Errorf("reply to %d, want %d", got, id)
	}
	refused(t, s, "sendMessage", fields{"chat_id": chat.ID(), "text": "x", "reply_parameters": fields{"message_id": 99}}, 400, "Bad Request: message to be replied not found")
	must(t, s, "sendMessage", fields{"chat_id": chat.ID(), "text": "x", "reply_parameters": fields{"message_id": 99, "allow_sending_without_reply": true}}, nil)
}

func TestReactions(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	id := chat.Send(anna, "hi").MessageID
	b := newBot(t, s)
	if _, err := b.SetMessageReaction(t.Context(), &bot.SetMessageReactionParams{ChatID: chat.ID(), MessageID: id, Reaction: []models.ReactionType{
		{Type: models.ReactionTypeTypeEmoji, ReactionTypeEmoji: &models.ReactionTypeEmoji{Emoji: "👀"}}}}); err != nil {
		t.Error(err)
	}
	if m, _ := chat.Message(id); m.Reaction != "👀" {
		t.Errorf("message %v has the reaction %q", m, m.Reaction)
	}
	react := func(list ...fields) fields { return fields{"chat_id": chat.ID(), "message_id": id, "reaction": list} }
	emoji := fields{"type": "emoji", "emoji": "👍"}
	refused(t, s, "setMessageReaction", react(fields{"type": "emoji", "emoji": "🐧"}), 400, "Bad Request: REACTION_INVALID")
	refused(t, s, "setMessageReaction", react(emoji, emoji), 400, "Bad Request: REACTIONS_TOO_MANY")
	refused(t, s, "setMessageReaction", fields{"chat_id": chat.ID(), "message_id": 99, "reaction": []fields{emoji}}, 400, "Bad Request: message to react not found")
	must(t, s, "setMessageReaction", react(), nil)
	if m, _ := chat.Message(id); m.Reaction != "" {
		t.Errorf("the reaction %q is still there", m.Reaction)
	}
}

func TestLibraryErrors(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	b := newBot(t, s)
	send := func(id int64) error {
		_, err := b.SendMessage(t.Context(), &bot.SendMessageParams{ChatID: id, Text: "x"})
		return err
	}
	group := s.Group(-20, "Group", anna)
	fresh := group.Migrate(anna, -1000020)
	var migrated *bot.MigrateError
	if err := send(group.ID()); !errors.As(err, &migrated) || int64(migrated.MigrateToChatID) != fresh.ID() {
		t.Errorf("migrated: %v", err)
	}
	chat.Block()
	if err := send(chat.ID()); !errors.Is(err, bot.ErrorForbidden) {
		t.Errorf("blocked: %v", err)
	}
	s.Script("sendMessage", 0, botapi.TooMany(3))
	var flood *bot.TooManyRequestsError
	if err := send(fresh.ID()); !errors.As(err, &flood) || flood.RetryAfter != 3 {
		t.Errorf("flood: %v", err)
	}
	s.RevokeToken()
	if err := send(chat.ID()); !errors.Is(err, bot.ErrorUnauthorized) {
		t.Errorf("revoked: %v", err)
	}
}
