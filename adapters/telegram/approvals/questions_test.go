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

// TestButtonsOfEarlierVersions holds that a message of an earlier version that shows a part of a
// request is known by its button.
func TestButtonsOfEarlierVersions(t *testing.T) {
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
		cut      bool
		approval string
	}{
		{below("ok:a1", "no:a1", "all:a1"), true, "a1"},
		{below("ok:a1", "no:a1", "always:a1"), false, "a1"},
		{below("stop:t1"), false, ""},
		{nil, false, ""},
	} {
		if got := Below(&models.Message{ReplyMarkup: row.buttons}); got != row.approval || isCut(row.buttons) != row.cut {
			t.Errorf("%v: it is of %q, cut: %v", row.buttons, got, isCut(row.buttons))
		}
	}
}
