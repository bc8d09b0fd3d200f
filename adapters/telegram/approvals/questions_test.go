package approvals

import (
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"testing"
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
