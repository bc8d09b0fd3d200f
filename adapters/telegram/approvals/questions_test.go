package approvals

import (
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"testing"

	"github.com/go-telegram/bot/models"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	questions := []core.Question{
		{Question: "one?", Options: []core.Option{{Label: "a"}, {Label: "b"}}},
		{Question: "many?", MultiSelect: true, Options: []core.Option{{Label: "c"}, {Label: "d"}}},
	}
	var s view.Answers
	for _, option := range []string{"2", "-1", "x"} {
		if choose(questions[0], &s, option) == "" || s.Open() != 0 {
			t.Errorf("%q is an option", option)
		}
	}
	choose(questions[0], &s, "1")
	choose(questions[1], &s, "1")
	choose(questions[1], &s, "0")
	if s.Open() != 1 || len(s.Picked) != 2 {
		t.Fatalf("answered: %+v", s)
	}
	choose(questions[1], &s, "done")
	got := s.ByQuestion(questions)
	if s.Open() != 2 || got["one?"][0] != "b" || got["many?"][0] != "c" || got["many?"][1] != "d" {
		t.Errorf("answered: %v", got)
	}
}

// TestBelow holds that a request is known by its buttons, and that those of earlier versions and
// those of others do not count.
func TestBelow(t *testing.T) {
	t.Parallel()
	below := func(data ...string) *models.InlineKeyboardMarkup {
		k := &models.InlineKeyboardMarkup{}
		for _, d := range data {
			k.InlineKeyboard = append(k.InlineKeyboard, []models.InlineKeyboardButton{{CallbackData: d}})
		}
		return k
	}
	for _, row := range []struct {
		buttons  *models.InlineKeyboardMarkup
		approval string
	}{
		{below("allow:a1", "deny:a1", "rule:a1"), "a1"},
		{below("answer:a1:0:1", "deny:a1"), "a1"},
		{below("ok:a1", "no:a1", "always:a1"), ""},
		{below("stop:t1"), ""},
		{nil, ""},
	} {
		if got := Below(&models.Message{From: &models.User{ID: 7}, ReplyMarkup: row.buttons}, 7); got != row.approval {
			t.Errorf("%v: it is of %q", row.buttons, got)
		}
	}
	for name, m := range map[string]*models.Message{
		"another bot":                {From: &models.User{ID: 8}},
		"a member, by an inline bot": {From: &models.User{ID: 9}, ViaBot: &models.User{ID: 8}},
		"this bot, by an inline bot": {From: &models.User{ID: 7}, ViaBot: &models.User{ID: 8}},
		"nobody":                     {},
	} {
		m.ReplyMarkup = below("allow:a1", "deny:a1")
		if got := Below(m, 7); got != "" {
			t.Errorf("buttons of %s name the request %q", name, got)
		}
	}
}
