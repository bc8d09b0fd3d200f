package commands

import (
	"context"
	"slices"
	"testing"

	"bareclaw/core"
	"bareclaw/core/settings"
)

const id = "01a200a0-30df-79e6-bc79-d2bc7d5fe738"

// gateway is a gateway with one channel, which has waiting messages and rules.
type gateway struct {
	own core.Settings
}

func (g *gateway) Present(_ context.Context, key core.ChannelKey) (core.ChannelStatus, error) {
	return core.ChannelStatus{Key: key, State: core.StateIdle}, nil
}

func (g *gateway) Usage(context.Context, core.ChannelKey) (core.Usage, error) {
	return core.Usage{}, nil
}

func (g *gateway) Spending() core.Spending { return core.Spending{} }

func (g *gateway) Find(_ context.Context, text string) (core.MessageID, error) {
	return core.MessageID(text), nil
}

func (g *gateway) Message(_ context.Context, id core.MessageID) (core.Message, error) {
	return core.Message{ID: id, Channel: "elsewhere", State: core.Waiting}, nil
}

func (g *gateway) Messages(context.Context, core.ChannelKey, int, core.MessageID) ([]core.Message, error) {
	return nil, nil
}

func (g *gateway) Trace(context.Context, core.MessageID) (core.Trace, error) {
	return core.Trace{}, core.ErrNotFound
}

func (g *gateway) Queue(context.Context, core.ChannelKey) ([]core.Message, error) {
	return make([]core.Message, 12), nil
}

func (g *gateway) Cancel(context.Context, core.MessageID) (core.Message, error) {
	panic("a message of another channel is dropped")
}

func (g *gateway) RunNow(context.Context, core.MessageID) error {
	panic("a message of another channel is run")
}

func (g *gateway) Interrupt(context.Context, core.ChannelKey, core.TurnID) (core.Interruption, error) {
	return core.Interruption{}, core.ErrNothingRuns
}

func (g *gateway) Reset(context.Context, core.ChannelKey) error { return core.ErrNotFound }

func (g *gateway) Settings(core.ChannelKey) core.Settings { return g.own }

func (g *gateway) ChangeSettings(_ context.Context, _ core.ChannelKey, c settings.Choice) error {
	g.own = g.own.Apply(&core.SettingsChange{Model: c.Model, PermissionMode: c.PermissionMode})
	return nil
}

func (g *gateway) RemoveRule(context.Context, core.ChannelKey, string) error { return core.ErrNotFound }

func table(t *testing.T) *Table {
	t.Helper()
	g := &gateway{own: core.Settings{Rules: []core.Rule{{ID: id, Rule: "Read"}}}}
	rows := Builtin(Options{
		Channels: g,
		Messages: g,
		Queue:    g,
		Sessions: g,
		Settings: g,
		Models:   []string{"opus", "fable"},
	})
	all, err := NewTable(append(rows, ToolsCommand(newRegistry(t)), MountsCommand(mounted{}))...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func called(t *testing.T, all *Table, text string) Note {
	t.Helper()
	name, arg, ok := Parse(text)
	c, found := all.Find(name)
	if !ok || !found {
		t.Fatalf("%s is no command", text)
	}
	n, err := c.Answer(t.Context(), Call{Channel: "desk", Arg: arg})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return n
}

// wantOfAll fails for each kind of call of a table's commands that none of the texts makes: one that Show
// answers, and one that Run answers.
func wantOfAll[E any](t *testing.T, all *Table, texts map[string]E) {
	t.Helper()
	shown := map[string]bool{}
	run := map[string]bool{}
	for text := range texts {
		name, arg, _ := Parse(text)
		c, ok := all.Find(name)
		switch {
		case !ok:
			t.Errorf("something is expected of %s, which is no command", text)
		case c.shows(arg):
			shown[c.Name] = true
		default:
			run[c.Name] = true
		}
	}
	for _, c := range all.All() {
		if c.Show != nil && !shown[c.Name] {
			t.Errorf("/%s: nothing is expected of a call that Show answers", c.Name)
		}
		if c.Run != nil && !run[c.Name] {
			t.Errorf("/%s: nothing is expected of a call that Run answers", c.Name)
		}
	}
}

// TestChoicesAreCommands: each choice of a note calls a command, and fits behind a button.
func TestChoicesAreCommands(t *testing.T) {
	t.Parallel()
	all := table(t)
	offered := map[string]int{ // how many choices a call offers
		"/new":                    0,
		"/stop":                   0,
		"/status":                 0,
		"/queue":                  20,
		"/queue drop " + id:       20,
		"/model":                  3,
		"/model opus":             3,
		"/mode":                   6,
		"/mode bypassPermissions": 2,
		"/usage":                  0,
		"/rules":                  1,
		"/rules remove " + id:     1,
		"/why":                    0,
		"/why " + id:              0,
		"/tools":                  0,
		"/tools clock":            0,
		"/mounts":                 0,
		"/help":                   0,
	}
	wantOfAll(t, all, offered)
	for text, want := range offered {
		choices := called(t, all, text).Choices
		if len(choices) != want {
			t.Errorf("%s offers %d choices, want %d", text, len(choices), want)
		}
		for _, choice := range choices {
			if choice.Label == "" || len(choice.Command) > MaxCommand {
				t.Errorf("%s offers %q by %q", text, choice.Label, choice.Command)
			}
			called(t, all, choice.Command)
		}
	}
}

// TestAccess: whoever may only read may not change anything, and a command that only shows does so
// whatever its argument is.
func TestAccess(t *testing.T) {
	t.Parallel()
	all := table(t)
	accesses := map[string]Access{
		"/new":                     Acts,
		"/stop":                    Acts,
		"/stop 1234":               Acts,
		"/status":                  Reads,
		"/status now":              Reads,
		"/queue":                   Reads,
		"/queue drop " + id:        Acts,
		"/model":                   Reads,
		"/model opus":              Acts,
		"/mode":                    Reads,
		"/mode plan":               Widens,
		"/Mode\tbypassPermissions": Widens,
		"/usage":                   Reads,
		"/rules":                   Reads,
		"/rules remove " + id:      Acts,
		"/why":                     Reads,
		"/why 1234":                Reads,
		"/tools":                   Reads,
		"/tools clock":             Reads,
		"/mounts":                  Reads,
		"/help":                    Reads,
	}
	wantOfAll(t, all, accesses)
	for text, want := range accesses {
		name, arg, _ := Parse(text)
		c, ok := all.Find(name)
		if !ok || c.AccessOf(arg) != want {
			t.Errorf("%s: access %v, want %v", text, c.AccessOf(arg), want)
		}
	}
}

// TestOtherChannelsMessagesAreUnknown: whoever may act on one channel cannot act on the messages of
// another one.
func TestOtherChannelsMessagesAreUnknown(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"drop", "now"} {
		if n := called(t, table(t), "/queue "+verb+" "+id); n.Done != unknownMessage {
			t.Errorf("%s: %q", verb, n.Done)
		}
	}
}

// TestBypassIsConfirmed: the mode in which nobody is asked is set by a second command alone.
func TestBypassIsConfirmed(t *testing.T) {
	t.Parallel()
	all := table(t)
	for text, want := range map[string]string{"/mode bypassPermissions": "**Careful**", "/mode bypassPermissions confirmed": "From the next turn on"} {
		if n := called(t, all, text); len(n.Text) < len(want) || n.Text[:len(want)] != want {
			t.Errorf("%s: %q", text, n.Text)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"/queue":          {"queue", ""},
		"/Queue  drop x ": {"Queue", "drop x"},
		"/mode\nplan":     {"mode", "plan"},
		"/etc/passwd is":  {"etc/passwd", "is"},
		"/":               nil,
		" /queue":         nil,
		"queue":           nil,
		"":                nil,
	} {
		name, arg, ok := Parse(text)
		if ok != (want != nil) || ok && !slices.Equal([]string{name, arg}, want) {
			t.Errorf("%q: %q, %q, %v", text, name, arg, ok)
		}
	}
}

// TestBadRows: a row that would not do what it says makes no table.
func TestBadRows(t *testing.T) {
	t.Parallel()
	answer := func(context.Context, Call) (Note, error) { return Note{}, nil }
	text := func(context.Context, Call, map[string]string) (string, error) { return "Do it.", nil }
	for want, c := range map[string]Command{
		"the command /help is defined twice": {
			Name:   "help",
			Access: Reads,
			Show:   answer,
		},
		"the command /empty answers no call: set Show or Run": {
			Name:   "empty",
			Access: Reads,
		},
		"the command /silent does not say what it does: set Help": {
			Name:   "silent",
			Help:   " \n",
			Access: Reads,
			Show:   answer,
		},
		"the command /open does not say who may call it: set Access": {
			Name: "open",
			Run:  answer,
		},
		"the command /ignored has only Show, which everybody may call who may read: set Access to Reads, or Run in place of Show": {
			Name:   "ignored",
			Access: Acts,
			Show:   answer,
		},
		"the command /Big has no name that people can write: a lower-case letter, then more of these, digits, _ and -": {
			Name:   "Big",
			Access: Reads,
			Show:   answer,
		},
		"the command /both has a prompt, which answers all calls: leave Show and Run out": {
			Name:   "both",
			Access: Reads,
			Show:   answer,
			Prompt: &Prompt{Text: text},
		},
		"the command /acts has a prompt, which only reads: set Access to Reads": {
			Name:   "acts",
			Access: Acts,
			Prompt: &Prompt{Text: text},
		},
		"the command /mute has a prompt without Text": {
			Name:   "mute",
			Access: Reads,
			Prompt: &Prompt{},
		},
		"the command /late requires the argument b behind one that it does not require": {
			Name:   "late",
			Access: Reads,
			Prompt: &Prompt{
				Args: []Arg{{Name: "a"}, {Name: "b", Required: true}},
				Text: text,
			},
		},
		"the command /twice has two arguments a": {
			Name:   "twice",
			Access: Reads,
			Prompt: &Prompt{
				Args: []Arg{{Name: "a"}, {Name: "a"}},
				Text: text,
			},
		},
		`the command /odd has the argument "A B": a name is a lower-case letter, then more of these, digits, _ and -`: {
			Name:   "odd",
			Access: Reads,
			Prompt: &Prompt{
				Args: []Arg{{Name: "A B"}},
				Text: text,
			},
		},
	} {
		if c.Name != "silent" {
			c.Help = "do something"
		}
		if _, err := NewTable(c); err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}
