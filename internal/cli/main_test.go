package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"bareclaw/internal/exitcode"
)

func TestHelpIsGroupedAndSaysTheStatuses(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"help"}} {
		var out, errs bytes.Buffer
		if status := Main(args, nil, &out, &errs); status != exitcode.OK {
			t.Errorf("%v: exit status %d: %s", args, status, &errs)
		}
		for _, want := range []string{"Set up:", "Every day:", "Keep it running:", "130 interrupted", "Settings file: "} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%v has no %q:\n%s", args, want, &out)
			}
		}
	}
	var out, errs bytes.Buffer
	if status := Main([]string{"help", "send"}, nil, &out, &errs); status != exitcode.OK || !strings.Contains(out.String(), "--idempotency-key") {
		t.Errorf("help send: %d\n%s%s", status, &out, &errs)
	}
	out.Reset()
	if status := Main([]string{"--version"}, nil, &out, &errs); status != exitcode.OK || !strings.HasPrefix(out.String(), "bareclaw ") {
		t.Errorf("--version: %d\n%s%s", status, &out, &errs)
	}
	if status := Main([]string{"--verbos"}, nil, &out, &errs); status != exitcode.Usage || errs.String() != "bareclaw: unknown flag --verbos\nTry: bareclaw --help\n" {
		t.Errorf("an unknown flag: %d\n%s", status, &errs)
	}
}

// TestUsageErrors: what is wrong with arguments is told in words, with how it is called; nothing
// harmful is suggested.
func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"bckup":                            `there is no command bckup; did you mean "backup"?`,
		"sto":                              "there is no command sto",
		"restar":                           "there is no command restar",
		"-v":                               "unknown flag -v",
		"send":                             "which channel? bareclaw send CHANNEL [TEXT]",
		"messages":                         "which channel? bareclaw messages CHANNEL",
		"messages desk -n 0":               "--count must be a number from 1 to 500",
		"messages desk --count abc":        `--count needs a whole number, not "abc"`,
		"send desk x --timeout abc":        `--timeout needs a duration such as 30s or 10m, not "abc"`,
		"schedule add desk x --budget abc": `--budget needs a number, not "abc"`,
		"channels set desk --model":        "--model needs a value",
		"completion tcsh":                  `shell must be bash, zsh or fish, not "tcsh"`,
		"schedule add":                     "which channel, which text, and when? bareclaw schedule add CHANNEL TEXT --at TIME (or --in, --every, --cron)",
		"send desk x --push --async":       "--push cannot be combined with --async, --mode, --timeout or --idempotency-key, which are for asking",
		"channels remov desk":              "there is no command remov",
		"mcp --bag=":                       "--bag needs the name of a bag; leave --bag out for all tools",
		"update --nonsense":                "unknown flag --nonsense",
	} {
		var out, errs bytes.Buffer
		status := Main(strings.Fields(line), nil, &out, &errs)
		got, _, _ := strings.Cut(errs.String(), "\n")
		if status != exitcode.Usage || got != "bareclaw: "+want || out.Len() > 0 {
			t.Errorf("%q: status %d, says %q, want %q", line, status, got, want)
		}
	}
}

// TestErrorsAreJSONWithJSON: a program that asks for JSON gets one line of it, whatever is wrong.
func TestErrorsAreJSONWithJSON(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_RUNTIME_DIR", "")
	for line, want := range map[string]struct {
		status int
		code   string
	}{
		"messages desk --json -n 0": {exitcode.Usage, "usage"},
		"nonsense --json":           {exitcode.Usage, "usage"},
		"channels --json":           {exitcode.Unreachable, "unreachable"},
	} {
		var out, errs bytes.Buffer
		status := Main(strings.Fields(line), nil, &out, &errs)
		var got struct{ Error, Code string }
		err := json.Unmarshal(out.Bytes(), &got)
		if status != want.status || err != nil || got.Code != want.code || got.Error == "" || strings.Count(out.String(), "\n") != 1 || errs.Len() > 0 {
			t.Errorf("%q: status %d, prints %q and tells %q", line, status, &out, &errs)
		}
	}
}

// TestHelpOfACommand: the commands below one are not in its group, and words of other programs lead
// to the commands of this one.
func TestHelpOfACommand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][2]string{
		"tools --help":  {"Commands:\n  tools list", "Every day:"},
		"setup --help":  {"Usage: bareclaw init", "context-sensitive"},
		"config --help": {"Usage: bareclaw settings", ""},
		"ps --help":     {"Usage: bareclaw channels", ""},
		"--help":        {"bareclaw", "setup"},
	} {
		var out, errs bytes.Buffer
		if status := Main(strings.Fields(line), nil, &out, &errs); status != exitcode.OK ||
			!strings.Contains(out.String(), want[0]) || want[1] != "" && strings.Contains(out.String(), want[1]) {
			t.Errorf("%q: status %d, want %q and no %q:\n%s%s", line, status, want[0], want[1], &out, &errs)
		}
	}
}

// TestSentencesGoOn: an error is one sentence with the name of the program before it.
func TestSentencesGoOn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"The channel waits.": "the channel waits.", "Claude is away.": "Claude is away.", "BARECLAW_PORT is wrong": "BARECLAW_PORT is wrong",
		"POST it": "POST it", "no": "no", "A b": "A b", "": "", "Über": "über",
	} {
		if got := lowerFirst(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
