package botapi_test

import (
	"errors"
	"strings"
	"testing"

	"bareclaw/internal/testkit/botapi"
)

// TestMisuse asks of users what no user could do.
func TestMisuse(t *testing.T) {
	t.Parallel()
	s, err := botapi.NewServer(botapi.WithAddress("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	anna, bo := s.User(7, "Anna", "", ""), s.User(8, "Bo", "", "")
	chat, group, forum := s.Private(anna), s.Group(-5, "Group", anna), s.Forum(-6, "Forum", anna)
	closed := forum.CreateTopic(anna, "Closed")
	forum.CloseTopic(anna, closed)
	blocked := s.Private(bo)
	blocked.Block()
	gone := s.Group(-7, "Gone", anna)
	gone.Delete()
	mine := say(t, s, chat.ID(), "mine")
	linked := keyboard([]fields{{"text": "Site", "url": "https://example.org"}})
	var m sent
	must(t, s, "sendMessage", fields{"chat_id": 7, "text": "x", "reply_markup": linked}, &m)
	for problem, do := range map[string]func(){
		"Bo is not in chat -5":         func() { group.Send(bo, "x") },
		"the bot is not in chat 8":     func() { blocked.Send(bo, "x") },
		"chat -7 was deleted":          func() { gone.Send(anna, "x") },
		"no open topic 2":              func() { forum.Send(anna, "x", botapi.InTopic(closed)) },
		"no open topic 9":              func() { chat.Send(anna, "x", botapi.InTopic(9)) },
		"is empty":                     func() { chat.Send(anna, "") },
		"4097 UTF-16 units":            func() { chat.Send(anna, repeat("x", 4097)) },
		"no message 99 to reply to":    func() { chat.Send(anna, "x", botapi.ReplyingTo(99)) },
		"is beyond the text":           func() { chat.Send(anna, "x", botapi.WithEntities(botapi.Entity{Type: "bold", Length: 2})) },
		"is not of Anna":               func() { chat.Edit(anna, mine, "x") },
		"nobody sees a message 99":     func() { chat.Edit(anna, 99, "x") },
		"nobody sees a message 98":     func() { chat.React(anna, 98, "👍") },
		"nobody sees a message 97":     func() { chat.Tap(anna, 97, "Go") },
		"there is no button \"Go\"":    func() { chat.Tap(anna, mine, "Go") },
		"sends nothing to the bot":     func() { chat.Tap(anna, m.ID, "Site") },
		"has no message 96":            func() { chat.TapStale(anna, 96, "x") },
		"a draft with a Stop button":   func() { chat.StopDraft(0) },
		"has no topics":                func() { group.CreateTopic(anna, "x") },
		"has no topic 9":               func() { forum.DeleteTopic(9) },
		"only a person blocks the bot": func() { group.Block() },
		"nobody is kicked there":       func() { chat.Kick(anna) },
		"only a group becomes":         func() { forum.Migrate(anna, -9) },
		"is not negative":              func() { s.Group(5, "x") },
		"there is a chat -5 already":   func() { s.Group(-5, "x") },
		"nobody sees a message 95 in":  func() { chat.DeleteMessage(95) },
	} {
		func() {
			defer func() {
				misuse, _ := recover().(error)
				var m botapi.Misuse
				if !errors.As(misuse, &m) || !strings.Contains(m.Problem, problem) {
					t.Errorf("got %v, want %q", misuse, problem)
				}
			}()
			do()
		}()
	}
}

// TestMisuseNamesTheLine has a test make a mistake and looks at what it is told.
func TestMisuseNamesTheLine(t *testing.T) {
	t.Parallel()
	s := botapi.New(&stubTB{TB: t})
	chat := s.Private(s.User(7, "Anna", "", ""))
	defer func() {
		text, _ := recover().(string)
		if !strings.Contains(text, "misuse_test.go:") || !strings.Contains(text, "nobody sees a message 5") {
			t.Errorf("told %q", text)
		}
	}()
	chat.DeleteMessage(5)
}
