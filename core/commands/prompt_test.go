package commands

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// tdd is a command with a prompt of two arguments.
func tdd() Command {
	return Command{
		Name:   "tdd",
		Help:   "build by tests",
		Access: Reads,
		Prompt: &Prompt{
			Args: []Arg{
				{Name: "phase", Help: "red, green or *refactor*", Required: true},
				{Name: "spec", Help: "what to build"},
			},
			Text: func(_ context.Context, c Call, values map[string]string) (string, error) {
				return fmt.Sprintf("%s asks on %s: %q", c.Person, c.Channel, values), nil
			},
		},
	}
}

// TestPromptsAreWritten: people write the arguments of a prompt behind its name, and the answer is a text
// for the agent, or says how to write the call.
func TestPromptsAreWritten(t *testing.T) {
	t.Parallel()
	checkApp := Command{
		Name:   "check-app",
		Help:   "check an app",
		Access: Reads,
		Prompt: &Prompt{
			InChat: true,
			Text:   func(context.Context, Call, map[string]string) (string, error) { return "Check.", nil },
		},
	}
	all, err := NewTable(tdd(), checkApp)
	check.OK(t, err)
	const usage = ". Write `/tdd PHASE [SPEC]`.\n`PHASE`: red, green or \\*refactor\\*\n`SPEC`: what to build"
	for text, want := range map[string]Note{
		"/tdd red":                      {Prompt: ` asks on desk: map["phase":"red"]`},
		"/TDD green  a clock\nof\tsand": {Prompt: ` asks on desk: map["phase":"green" "spec":"a clock\nof\tsand"]`},
		"/tdd":                          {Text: `\/tdd needs the argument phase` + usage},
		"/check-app":                    {Prompt: "Check."},
		"/check-app now":                {Text: `\/check\-app takes nothing behind its name. Write ` + "`/check-app`."},
	} {
		got := called(t, all, text)
		got.Text = strings.ReplaceAll(got.Text, "\\,", ",")
		if got.Text != want.Text || got.Prompt != want.Prompt || len(got.Choices) > 0 {
			t.Errorf("%s: %q, %q; want %q, %q", text, got.Text, got.Prompt, want.Text, want.Prompt)
		}
		name, arg, _ := Parse(text)
		if c, _ := all.Find(name); c.AccessOf(arg) != Reads {
			t.Errorf("%s does more than read", text)
		}
	}
}

// TestListsChange: the rows of a list come and go, and a change that does not fit changes nothing.
func TestListsChange(t *testing.T) {
	t.Parallel()
	fixed := Command{
		Name:   "status",
		Help:   "say how it is",
		Access: Reads,
		Show:   func(context.Context, Call) (Note, error) { return Note{Text: "Fine."}, nil },
	}
	all, err := NewTable(fixed)
	check.OK(t, err)
	first := all.NewList()
	second := all.NewList()
	changed := all.Watch()
	other := tdd()
	other.Name = "other"
	check.OK(t, second.Replace(other))
	check.OK(t, first.Replace(tdd()))
	want := func(names string) {
		t.Helper()
		var got []string
		for _, c := range all.All() {
			got = append(got, c.Name)
		}
		if strings.Join(got, " ") != names {
			t.Errorf("the commands are %q, want %s", got, names)
		}
	}
	want("status tdd other help")
	if help := called(t, all, "/help").Text; !strings.Contains(help, "\n/tdd – build by tests\n") {
		t.Errorf("the help is %q", help)
	}
	select {
	case <-changed:
	default:
		t.Error("nobody hears of the change")
	}
	version := all.Version()
	for want, row := range map[string]Command{
		"the command /status is defined twice":                                 fixed,
		"the command /other is defined twice":                                  other,
		"the command /tdd has a prompt, which only reads: set Access to Reads": {Name: "tdd", Help: "test", Prompt: tdd().Prompt},
	} {
		if err := first.Replace(row); err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	want("status tdd other help")
	if all.Version() != version || len(changed) > 0 {
		t.Error("a change that was refused is told")
	}
	check.OK(t, first.Replace())
	want("status other help")
	if _, ok := all.Find("tdd"); ok || all.Version() == version {
		t.Error("a command that is gone is found")
	}
}
