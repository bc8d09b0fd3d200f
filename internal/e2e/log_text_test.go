package e2e

import (
	"os"
	"strings"
	"testing"
	"unicode"
)

// The words that a test looks for in logs, in what is asked and in what is answered. What
// surrounds them commands a terminal.
const (
	askedWord    = "plover"
	answeredWord = "xyzzy"
	terminalText = "\x1b[31m\x07\x7f \u009b2J \u202e"
)

// logs returns all that the daemons and the session hosts of the machine have logged.
func (m *machine) logs() string {
	m.t.Helper()
	all := m.log.String()
	for _, pattern := range []string{"state/hosts/*.log", "state/bareclaw.log*"} {
		for _, f := range m.glob(pattern) {
			b, err := os.ReadFile(f)
			if err != nil && !os.IsNotExist(err) { // of a host that has ended
				m.t.Fatal(err)
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
			t.Parallel()
			m := newMachine(t, "BARECLAW_LOG_LEVEL="+level, "ANSWER="+answeredWord+terminalText)
			g := m.start()
			asked := func(directive string) string { return directive + "\n" + askedWord + terminalText }
			g.say("desk", asked("env ANSWER")).want(t, answeredWord+terminalText)
			for _, directive := range []string{
				"apierror 500", "rubbish", "stderr 100", "noresult " + answeredWord, "die 3", "maxturns 3", "resultdie 3", "vanish", "background 1 " + answeredWord,
			} {
				g.say("broken", asked(directive))
			}
			g.must("POST", "/message", obj{"content": []obj{{"type": "text", "text": asked("env ANSWER")}}}, 200)
			g.must("POST", "/message", obj{"text": asked("x"), "channel": " "}, 400)
			g.must("POST", "/send", obj{"channel": "desk", "text": askedWord}, 404)
			g.must("POST", "/schedules", obj{"channel": "desk", "text": asked("x"), "when": "in 1h"}, 201)
			running := g.tell("desk", asked("wait "+m.path("go")))
			m.begins("wait " + m.path("go"))
			waiting := g.tell("desk", asked("x"))
			g.must("DELETE", "/messages/"+waiting, nil, 200)
			retried, err := g.do("POST", "/messages/"+waiting+"/retry", nil, "Prefer", "respond-async")
			if err != nil || retried.status != 202 {
				t.Fatalf("retry: %v, status %d", err, retried.status)
			}
			m.command(0, "restart")
			m.touch("go")
			g.outcome(running)
			g.outcome(retried.str("message_id"))
			running, finish := g.occupy("desk")
			steered := g.tell("desk", asked("x"), "mode", "steer")
			finish()
			g.outcome(running)
			g.outcome(steered)
			logs := m.logs()
			g.balanced()
			g.signal(15)
			logs += m.logs()
			for _, word := range []string{askedWord, answeredWord} {
				if got := strings.Contains(logs, word); got != (level == "debug") {
					t.Errorf("%s is in the log: %v\n%s", word, got, around(logs, word))
				}
			}
			if bad := strings.IndexFunc(logs, commandsTerminal); bad >= 0 {
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

// commandsTerminal reports whether a terminal does something else with a character than
// to show it.
func commandsTerminal(r rune) bool {
	return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}
