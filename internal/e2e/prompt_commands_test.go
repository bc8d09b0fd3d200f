package e2e

import (
	"strings"
	"testing"

	"bareclaw/internal/exitcode"
)

// coloured is what a program that is piped into send may write, and coloursShown how a
// terminal is shown it.
const (
	coloured      = "\x1b[31mFAIL\x1b[0m \u009b1m\x07 \u202ebuild"
	coloursShown  = "\uFFFD[31mFAIL\uFFFD[0m \uFFFD1m\uFFFD \uFFFDbuild"
	colourChannel = "desk"
)

// TestColoursReachClaude sends the coloured output of a program by every way that a text
// can take. Claude gets it as it is; so does what reads the answer from a pipe.
func TestColoursReachClaude(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	const text = "prompt\n" + coloured
	arrived := "[channel: desk, adapter: http]\n" + text
	m.invoke(strings.NewReader(text+"\n"), "send", colourChannel, "-").ends(exitcode.OK).prints(arrived + "\n")
	m.invoke(nil, "send", colourChannel, text).ends(exitcode.OK).prints(arrived + "\n")
	m.command(exitcode.OK, "send", colourChannel, text, "--json").document().want(t, arrived)
	g.say(colourChannel, text).want(t, arrived)
	g.must("POST", "/message", obj{"channel": colourChannel, "content": []obj{{"type": "text", "text": text}}}, 200).want(t, arrived)
	g.must("POST", "/message", obj{"text": "a\x00b"}, 400)
	g.must("POST", "/schedules", obj{"channel": colourChannel, "text": text, "when": "in 1h"}, 201)
	if n := g.balanced(); n != 5 {
		t.Errorf("%d messages, want 5", n)
	}
}

// TestNoCommandPassesColoursOn asks everything that shows a prompt or an answer, which
// wait holds to print nothing that commands a terminal.
func TestNoCommandPassesColoursOn(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_APPROVALS=ask", "BARECLAW_LOG_LEVEL=debug", "ANSWER="+coloured)
	g := m.start()
	shown := "env ANSWER " + coloursShown
	answered := g.say(colourChannel, "env ANSWER\n"+coloured).str("message_id")
	m.command(exitcode.OK, "messages", colourChannel).shows(answered, "answered", shown)
	m.command(exitcode.OK, "trace", answered).shows("prompt   "+shown, "\n\n"+coloursShown)
	m.command(exitcode.OK, "messages", colourChannel, "--json").shows(`"prompt":{"text":"env ANSWER\n\u001b[31mFAIL`)
	m.command(exitcode.OK, "trace", answered, "--json").shows(`"prompt":{"text":"env ANSWER\n\u001b[31mFAIL`)
	asking := g.tell("ops", "tool 0 ask ls\n"+coloured)
	id := g.asked(1)[0].str("id")
	m.command(exitcode.OK, "approvals").shows("Bash: ask ls", "tool 0 ask ls "+coloursShown)
	m.command(exitcode.OK, "approvals", "--json").shows(`"prompt":{"text":"tool 0 ask ls\n\u001b[31mFAIL`)
	m.command(exitcode.OK, "approvals", "show", id).shows("prompt    tool 0 ask ls " + coloursShown)
	waiting := g.tell("ops", "x\n"+coloured)
	m.command(exitcode.OK, "status").shows("ops")
	m.command(exitcode.OK, "channels").shows("ops")
	m.command(exitcode.OK, "cancel", waiting).prints("Cancelled " + waiting + ": x " + coloursShown + "\n")
	m.command(exitcode.OK, "approvals", "allow", id)
	g.outcome(asking)
	m.command(exitcode.Failed, "send", "broken", "apierror 500\n"+coloured).prints("").tells("bareclaw: ")
	m.command(exitcode.OK, "logs", "-n", "1000").shows(`[31mFAIL`)
	_, _, _ = m.run("doctor", "--no-turn")
	if said, _, _ := m.run("doctor", "--no-turn"); strings.ContainsFunc(said, commandsTerminal) {
		t.Errorf("doctor says %q", said)
	}
}

// TestCoalescedMessagesHaveTheirOwnPrompts has two messages become one turn, one of them
// with an image.
func TestCoalescedMessagesHaveTheirOwnPrompts(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	_, finish := g.occupy(colourChannel)
	one := g.tell(colourChannel, "one", "context", obj{"user": "Ann"})
	image := obj{"type": "image", "source": obj{"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
	two := g.tell(colourChannel, "", "content", []obj{image, {"type": "text", "text": "two"}})
	finish()
	if a := g.outcome(one); a.str("into") != two {
		t.Fatalf("the first message is %s", a.body)
	}
	g.outcome(two)
	for id, want := range map[string]string{
		one: `"prompt":{"text":"one","user":"Ann"}`,
		two: `"prompt":{"text":"two","blocks":[{"type":"image","media_type":"image/png","bytes":5},{"type":"text","bytes":3}]}`,
	} {
		if a := g.must("GET", "/messages/"+id, nil, 200); !strings.Contains(string(a.body), want) {
			t.Errorf("the message is %s, want %s", a.body, want)
		}
	}
	for _, at := range []string{g.base, "socket"} {
		get := g.must
		if at == "socket" {
			local := *g
			local.http = g.local()
			get = local.must
		}
		a := get("GET", "/messages/"+two+"/content", nil, 200)
		if !strings.Contains(string(a.body), `"data":"aGVsbG8="`) {
			t.Errorf("the content is %s", a.body)
		}
	}
	m.command(exitcode.OK, "messages", colourChannel).shows("[image/png] two", " one")
	m.command(exitcode.OK, "trace", one).shows("from      Ann", "prompt    one")
}
