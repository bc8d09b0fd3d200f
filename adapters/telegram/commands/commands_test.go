package commands

import (
	"testing"

	"github.com/go-telegram/bot/models"
)

func TestParseCommand(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		name, of, arg string
		ok            bool
	}{
		"/stop":             {"stop", "", "", true},
		"/Stop@My_bot":      {"stop", "My_bot", "", true},
		"/model  opus ":     {"model", "", "opus", true},
		"/mode\nplan":       {"mode", "", "plan", true},
		"@my_bot /stop":     {"stop", "", "", true},
		"@your_bot /stop":   {},
		"/":                 {},
		"/@bot":             {of: "bot"},
		"stop":              {},
		" /stop":            {},
		"":                  {},
		"/etc/passwd is it": {"etc/passwd", "", "is it", true},
	} {
		m := &models.Message{Text: text}
		name, of, arg, ok := parse(m, "my_bot")
		if name != want.name || of != want.of || arg != want.arg || ok != want.ok {
			t.Errorf("%q is %q of %q with %q, %v", text, name, of, arg, ok)
		}
		m.ForwardOrigin = &models.MessageOrigin{}
		if _, _, _, ok := parse(m, "my_bot"); ok {
			t.Errorf("%q is a command although it is forwarded", text)
		}
	}
}

// TestFormerButtons: buttons that earlier versions have left in chats call the commands of today.
func TestFormerButtons(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		"drop:m1":          "/queue drop m1",
		"now:m1":           "/queue now m1",
		"unrule:r1":        "/rules remove r1",
		"model:opus":       "/model opus",
		"mode:plan":        "/mode plan",
		"mode:sure":        "/mode bypassPermissions confirmed",
		"verbose:2":        "/verbose 2",
		"/queue drop m1":   "/queue drop m1",
		"stop:t1":          "",
		"answer:a1:0:done": "",
		"nonsense":         "",
	} {
		if got := called(data); got != want {
			t.Errorf("%s calls %q, want %q", data, got, want)
		}
	}
}
