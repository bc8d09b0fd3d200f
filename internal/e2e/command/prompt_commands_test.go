package command

import (
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/shortid"
)

// TestColoursReachClaude sends the coloured output of a program by every way that a text
// can take. Claude gets it as it is; so does what reads the answer from a pipe.
func TestColoursReachClaude(t *testing.T) {
	m, g := harness.Started(t)
	const text = "prompt\n" + harness.Coloured
	arrived := "[channel: desk, adapter: http]\n" + text
	m.Invoke(strings.NewReader(text+"\n"), "send", harness.ColourChannel, "-").Ends(exitcode.OK).Prints(arrived + "\n")
	m.Invoke(nil, "send", harness.ColourChannel, text).Ends(exitcode.OK).Prints(arrived + "\n")
	m.Command(exitcode.OK, "send", harness.ColourChannel, text, "--json").Document().Want(t, arrived)
	g.Say(harness.ColourChannel, text).Want(t, arrived)
	g.Must("POST", "/message", harness.Obj{"channel": harness.ColourChannel, "content": []harness.Obj{{"type": "text", "text": text}}}, 200).Want(t, arrived)
	g.Must("POST", "/message", harness.Obj{"text": "a\x00b"}, 400)
	g.Must("POST", "/schedules", harness.Obj{"channel": harness.ColourChannel, "text": text, "when": "in 1h"}, 201)
	if n := g.Balanced(); n != 5 {
		t.Errorf("%d messages, want 5", n)
	}
}

// TestNoCommandPassesColoursOn asks everything that shows a prompt or an answer, which
// wait holds to print nothing that commands a terminal.
func TestNoCommandPassesColoursOn(t *testing.T) {
	m, g := harness.Started(t, "BARECLAW_APPROVALS=ask", "BARECLAW_LOG_LEVEL=debug", "ANSWER="+harness.Coloured)
	shown := "env ANSWER " + harness.ColoursShown
	answered := g.Say(harness.ColourChannel, "env ANSWER\n"+harness.Coloured).Str("message_id")
	m.Command(exitcode.OK, "messages", harness.ColourChannel).Shows(shortid.Of(answered), "answered", shown)
	m.Command(exitcode.OK, "trace", answered).Shows("prompt   "+shown, "\n\n"+harness.ColoursShown)
	m.Command(exitcode.OK, "messages", harness.ColourChannel, "--json").Shows(`"prompt":{"text":"env ANSWER\n\u001b[31mFAIL`)
	m.Command(exitcode.OK, "trace", answered, "--json").Shows(`"prompt":{"text":"env ANSWER\n\u001b[31mFAIL`)
	asking := g.Tell("ops", "tool 0 ask ls\n"+harness.Coloured)
	id := g.Asked(1)[0].Str("id")
	m.Command(exitcode.OK, "approvals").Shows("Bash: ask ls", "tool 0 ask ls "+harness.ColoursShown)
	m.Command(exitcode.OK, "approvals", "--json").Shows(`"prompt":{"text":"tool 0 ask ls\n\u001b[31mFAIL`)
	m.Command(exitcode.OK, "approvals", "show", id).Shows("prompt    tool 0 ask ls " + harness.ColoursShown)
	waiting := g.Tell("ops", "x\n"+harness.Coloured)
	m.Command(exitcode.OK, "status").Shows("ops")
	m.Command(exitcode.OK, "channels").Shows("ops")
	m.Command(exitcode.OK, "cancel", waiting).Prints("Cancelled " + waiting + ": x " + harness.ColoursShown + "\n")
	m.Command(exitcode.OK, "approvals", "allow", id)
	g.Outcome(asking)
	m.Command(exitcode.Failed, "send", "broken", "apierror 500\n"+harness.Coloured).Prints("").Tells("bareclaw: ")
	m.Command(exitcode.OK, "logs", "-n", "1000").Shows(`[31mFAIL`)
	_, _, _ = m.Run("doctor", "--no-turn")
	if said, _, _ := m.Run("doctor", "--no-turn"); strings.ContainsFunc(said, harness.CommandsTerminal) {
		t.Errorf("doctor says %q", said)
	}
}

// TestCoalescedMessagesHaveTheirOwnPrompts has two messages become one turn, one of them
// with an image.
func TestCoalescedMessagesHaveTheirOwnPrompts(t *testing.T) {
	m, g := harness.Started(t)
	_, finish := g.Occupy(harness.ColourChannel)
	one := g.Tell(harness.ColourChannel, "one", "context", harness.Obj{"user": "Ann"})
	image := harness.Obj{"type": "image", "source": harness.Obj{"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
	two := g.Tell(harness.ColourChannel, "", "content", []harness.Obj{image, {"type": "text", "text": "two"}})
	finish()
	if a := g.Outcome(one); a.Str("into") != two {
		t.Fatalf("the first message is %s", a.Body)
	}
	g.Outcome(two)
	for id, want := range map[string]string{
		one: `"prompt":{"text":"one","user":"Ann"}`,
		two: `"prompt":{"text":"two","blocks":[{"type":"image","media_type":"image/png","bytes":5},{"type":"text","bytes":3}]}`,
	} {
		if a := g.Must("GET", "/messages/"+id, nil, 200); !strings.Contains(string(a.Body), want) {
			t.Errorf("the message is %s, want %s", a.Body, want)
		}
	}
	for _, at := range []string{g.Base, "socket"} {
		get := g.Must
		if at == "socket" {
			local := *g
			local.HTTP = g.Local()
			get = local.Must
		}
		a := get("GET", "/messages/"+two+"/content", nil, 200)
		if !strings.Contains(string(a.Body), `"data":"aGVsbG8="`) {
			t.Errorf("the content is %s", a.Body)
		}
	}
	m.Command(exitcode.OK, "messages", harness.ColourChannel).Shows("[image/png] two", " one")
	m.Command(exitcode.OK, "trace", one).Shows("from      Ann", "prompt    one")
}
