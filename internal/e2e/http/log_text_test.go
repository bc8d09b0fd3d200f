package http

import (
	"os"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// The words that a test looks for in logs, in what is asked and in what is answered. What
// surrounds them commands a terminal.
const (
	askedWord    = "plover"
	answeredWord = "xyzzy"
	terminalText = "\x1b[31m\x07\x7f \u009b2J \u202e"
)

// allLogs returns all that the daemons and the session hosts of the machine have logged.
func allLogs(m *harness.Machine) string {
	m.T.Helper()
	all := m.Log.String()
	for _, pattern := range []string{"state/hosts/*.log", "state/bareclaw.log*"} {
		for _, f := range m.Glob(pattern) {
			b, err := os.ReadFile(f)
			if err != nil && !os.IsNotExist(err) { // of a host that has ended
				m.T.Fatal(err)
			}
			all += string(b)
		}
	}
	return all
}

// TestLogHasTextsAtDebugAlone sends words over every way that a message can go, and looks
// for them in the logs.
func TestLogHasTextsAtDebugAlone(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"debug", "info"} {
		t.Run(level, func(t *testing.T) {
			m, g := harness.Started(t, "BARECLAW_LOG_LEVEL="+level, "ANSWER="+answeredWord+terminalText)
			asked := func(directive string) string { return directive + "\n" + askedWord + terminalText }
			g.Say("desk", asked("env ANSWER")).Want(t, answeredWord+terminalText)
			for _, directive := range []string{
				"apierror 500", "rubbish", "stderr 100", "noresult " + answeredWord, "die 3", "maxturns 3", "resultdie 3", "vanish", "background 1 " + answeredWord,
			} {
				g.Say("broken", asked(directive))
			}
			g.Must("POST", "/message", harness.Obj{"content": []harness.Obj{{"type": "text", "text": asked("env ANSWER")}}}, 200)
			g.Must("POST", "/message", harness.Obj{"text": asked("x"), "channel": " "}, 400)
			g.Must("POST", "/send", harness.Obj{"channel": "desk", "text": askedWord}, 404)
			g.Must("POST", "/schedules", harness.Obj{"channel": "desk", "text": asked("x"), "when": "in 1h"}, 201)
			running := g.Tell("desk", asked("wait "+m.Path("go")))
			m.Begins("wait " + m.Path("go"))
			waiting := g.Tell("desk", asked("x"))
			g.Must("DELETE", "/messages/"+waiting, nil, 200)
			retried, err := g.Do("POST", "/messages/"+waiting+"/retry", nil, "Prefer", "respond-async")
			if err != nil || retried.Status != 202 {
				t.Fatalf("retry: %v, status %d", err, retried.Status)
			}
			m.Command(0, "restart")
			m.Touch("go")
			g.Outcome(running)
			g.Outcome(retried.Str("message_id"))
			running, finish := g.Occupy("desk")
			steered := g.Tell("desk", asked("x"), "mode", "steer")
			finish()
			g.Outcome(running)
			g.Outcome(steered)
			logs := allLogs(m)
			g.Balanced()
			g.Signal(15)
			logs += allLogs(m)
			for _, word := range []string{askedWord, answeredWord} {
				if got := strings.Contains(logs, word); got != (level == "debug") {
					t.Errorf("%s is in the log: %v\n%s", word, got, around(logs, word))
				}
			}
			if bad := strings.IndexFunc(logs, harness.CommandsTerminal); bad >= 0 {
				t.Errorf("the log commands the terminal: %q", logs[max(0, bad-200):min(len(logs), bad+50)])
			}
		})
	}
}

// around returns the lines of a log that have the word.
func around(log, word string) string {
	var lines []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, word) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}
