package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// chat opens a chat on a channel, which waits for words.
func (g *gateway) chat(channel string) *display {
	g.t.Helper()
	x := g.display("chat", channel)
	x.sees("Channel "+channel, "Write to Claude")
	return x
}

// TestChat talks in a terminal: an answer, a tool that is allowed and one that is
// refused with words, a message while a turn runs, what another adapter's sender
// starts, and the words of before when it is opened again.
func TestChat(t *testing.T) {
	t.Parallel()
	g := newMachine(t).start()
	x := g.chat("desk")
	x.enters("echo good morning")
	x.sees("› echo good morning", "\ngood morning\n")

	x.enters("tool 0 ask ls -la")
	x.sees("? Allow Bash?", "ask ls -la", "[y] allow", "waiting for you")
	x.types("y" + keyEnter)
	x.sees("Bash ask ls -la: allowed", "✓ Bash ask ls -la", "final: ran: ask ls -la")

	x.enters("tool 0 ask rm -rf /")
	x.sees("ask rm -rf /", "[y] allow")
	x.enters("rather not")
	x.sees("› rather not", "Bash ask rm -rf /: denied", "\nfinal: rather not\n· ") // the turn is over: what follows is two turns

	x.enters("wait " + g.path("go"))
	x.sees("working")
	x.enters("echo after that")
	x.sees("1 waiting")
	g.touch("go")
	x.sees("waited for "+g.path("go"), "\nafter that\n")

	g.say("desk", "echo from elsewhere")
	x.sees("\nfrom elsewhere\n· ") // the turn is over: Ctrl-C would end it

	x.types(keyUp)
	x.waits("shows what was written", func(screen string) bool { return !strings.Contains(screen, "Write to Claude") })
	x.sees("› echo after that\n")
	x.types(keyCtrlC) // empties the prompt
	x.sees("Write to Claude")
	x.types(keyCtrlD)
	if status := x.ends(); status != exitOK {
		t.Errorf("status %d", status)
	}
	g.chat("desk").sees("from elsewhere")
	g.balanced()
}

// TestChatQuestions answers what Claude asks: with a number, with several, with words, and
// a plan that is to be changed and then carried out.
func TestChatQuestions(t *testing.T) {
	t.Parallel()
	g := newMachine(t).start()
	x := g.chat("desk")
	g.tell("desk", calling(t, "AskUserQuestion", obj{"questions": []obj{colours(), toppings()}}), "can_ask", true)
	x.sees("? Which colour?", "[2] Blue: cold", "a number, or words of your own")
	x.enters("2")
	x.sees("? Which toppings?", "[3] Olives", "numbers with commas")
	x.enters("1, 3")
	x.sees("AskUserQuestion: allowed", `colour?":"Blue"`, "Cheese,")

	g.tell("desk", calling(t, "AskUserQuestion", obj{"questions": []obj{colours()}}), "can_ask", true)
	x.waits("asks once more", func(screen string) bool { return strings.Contains(screen, "waiting for you") })
	x.enters("violet")
	x.sees(`:"violet"`)

	g.tell("desk", calling(t, "ExitPlanMode", obj{"plan": "1. Look\n2. Leap"}), "can_ask", true)
	x.sees("2. Leap", "Carry out this plan?")
	x.types("y" + keyEnter)
	x.sees("ExitPlanMode: allowed")

	g.tell("desk", calling(t, "Bash", obj{"command": "ls -la", "dangerouslyDisableSandbox": true, "description": "Say hello"}), "can_ask", true)
	x.sees("? Allow Bash?\n    ls -la\n    dangerouslyDisableSandbox: true\n? [y]") // no more and no less than what is done
	x.types("n" + keyEnter)
	x.sees("ls -la: denied")
	g.balanced()
}

// TestChatStops stops a turn with Ctrl-C, and leaves with two, while a turn goes on.
func TestChatStops(t *testing.T) {
	t.Parallel()
	g := newMachine(t).start()
	x := g.chat("desk")
	for i, key := range []string{keyCtrlC, keyEscape} {
		x.enters("wait " + g.path("never"))
		g.eventually("the turn runs", func() bool { return g.begun("wait ") == i+1 })
		x.sees("working")
		x.types(key)
		x.waits("says that it was stopped", func(screen string) bool {
			return strings.Count(screen, "· interrupted") == i+1 && !strings.Contains(screen, "working")
		})
	}
	x.enters("wait " + g.path("go"))
	g.eventually("the turn runs", func() bool { return g.begun("wait "+g.path("go")) == 1 })
	x.sees("working")
	x.types(keyCtrlD)
	if status := x.ends(); status != exitOK {
		t.Errorf("status %d", status)
	}
	x.sees("The turn goes on")
	again := g.chat("desk")
	again.sees("A turn is running")
	g.touch("go")
	again.sees("waited for " + g.path("go") + "\n· ") // the turn is over: Ctrl-C would end it
	again.types(keyCtrlC)
	again.sees("Ctrl-C once more")
	again.waits("is left", func(string) bool { // the next one must come soon
		if !closed(again.done) {
			again.types(keyCtrlC)
		}
		return closed(again.done)
	})
	if status := again.ends(); status != exitOK {
		t.Errorf("status %d", status)
	}
	g.balanced()
}

// TestChatOverRestarts talks while the gateway hands over, and dies and is started
// again: nothing is missed and nothing is there twice.
func TestChatOverRestarts(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	x := g.chat("desk")
	x.enters("wait " + g.path("one"))
	g.eventually("the turn runs", func() bool { return g.begun("one") == 1 })
	generation := g.generation()
	g.must("POST", "/restart", nil, 200)
	g.restarted(generation)
	g.touch("one")
	x.sees("\nwaited for " + g.path("one"))

	x.enters("wait " + g.path("two"))
	g.eventually("the turn runs", func() bool { return g.begun("two") == 1 })
	g.kill()
	x.sees("the gateway is away")
	x.types("echo sent while it was down" + keyEnter)
	g = m.start()
	g.touch("two")
	x.sees("\nwaited for "+g.path("two"), "\nsent while it was down")
	g.balanced()
	for _, text := range []string{"\nwaited for " + g.path("one"), "\nwaited for " + g.path("two"), "\nsent while it was down"} {
		x.waits(fmt.Sprintf("shows %q once", text), func(screen string) bool { return strings.Count(screen, text) == 1 }) // it may be being drawn
	}
	if !strings.Contains(x.written(), "may be missing") || strings.Contains(x.written(), "GET /") {
		t.Error("a person is not told, or is told in words of the API, that something may be missing")
	}
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
}

// TestChatAskedByTheDead kills the gateway and everything else while a permission is asked
// for: what is void is not asked for any more, and the chat goes on.
func TestChatAskedByTheDead(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	x := g.chat("desk")
	x.enters("tool 0 ask ls -la")
	x.sees("[y] allow", "waiting for you")
	g.kill()
	m.killHost(m.hosts()["desk"])
	g = m.start()
	x.sees("Bash ask ls -la: ", "A turn was cut", "[d] drop it") // void or, where that was not heard, waits no longer
	x.enters("echo hello again")
	x.sees("\nhello again\n")
	g.balanced()
}

// TestChatIsHarmless has the terminal shown what would give it commands.
func TestChatIsHarmless(t *testing.T) {
	t.Parallel()
	g := newMachine(t).start()
	x := g.chat("desk")
	g.say("desk", `raw {"text":"\u001b]0;owned\u0007\u001b[2Jgone\u202Etxt"}`)
	g.say("desk", "echo \u009b31m and \u202e")
	x.sees(" and ")
	if bad := regexp.MustCompile("\x1b\\]0;owned|\u009b|\u202e").FindString(x.written()); bad != "" {
		t.Errorf("%q was written to the terminal", bad)
	}
}

// TestChatColours uses colours, unless NO_COLOR is set.
func TestChatColours(t *testing.T) {
	t.Parallel()
	g := newMachine(t).start()
	for _, variable := range []string{"NO_COLOR=", "NO_COLOR=1"} {
		cmd := exec.Command(g.cmd.Path, "chat", "desk")
		cmd.Env, cmd.Dir = append(slices.Clone(g.env), "TERM=xterm-256color", variable), g.path("work")
		x := g.displayed(cmd)
		x.sees("Write to Claude")
		x.enters("apierror 500")
		x.sees("! API Error", "api_error")
		if red := strings.Contains(x.written(), "\x1b[31m"); red != (variable == "NO_COLOR=") {
			t.Errorf("%s: red is used: %v", variable, red)
		}
	}
}

// TestChatIsEnded ends the chat from outside: the terminal is as it was before. The chat
// dies of the signal, also where this test is run by nohup, whose children ignore SIGHUP.
func TestChatIsEnded(t *testing.T) {
	t.Parallel()
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // what handles a signal starts children that do not ignore it
	}
	g := newMachine(t).start()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		x := g.chat("desk")
		x.isEnded(s)
		if status := x.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != s {
			t.Errorf("%s: it ended with %v", s, x.cmd.ProcessState)
		}
	}
}

// TestChatIsEndedUnderNohup: a chat that was started with SIGHUP ignored cannot die of
// the signal, and ends with the status that a shell shows for such a death.
func TestChatIsEndedUnderNohup(t *testing.T) {
	t.Parallel()
	g := newMachine(t).start()
	cmd := exec.Command("sh", "-c", `trap "" HUP; exec "$0" chat desk`, g.cmd.Path)
	cmd.Env, cmd.Dir = append(slices.Clone(g.env), "TERM=xterm-256color"), g.path("work")
	x := g.displayed(cmd)
	x.sees("Channel desk", "Write to Claude")
	x.isEnded(syscall.SIGHUP)
	if status := x.cmd.ProcessState.ExitCode(); status != 128+int(syscall.SIGHUP) {
		t.Errorf("it ended with %v", x.cmd.ProcessState)
	}
}

// isEnded sends a signal to a chat in which something was begun, and fails unless the
// chat ends and leaves the terminal as it was.
func (x *display) isEnded(s syscall.Signal) {
	x.t.Helper()
	x.types("half written")
	x.sees("half written")
	if err := x.cmd.Process.Signal(s); err != nil {
		x.t.Fatal(err)
	}
	x.ends()
	if !strings.Contains(x.written(), "\x1b[?2004l") {
		x.t.Errorf("%s: pastes are marked still", s)
	}
}

// TestChatNeedsATerminal says what to use in a script.
func TestChatNeedsATerminal(t *testing.T) {
	t.Parallel()
	g := newMachine(t).start()
	cmd := exec.Command(g.cmd.Path, "chat", "desk")
	cmd.Env, cmd.Dir = g.env, g.path("work")
	out, _ := cmd.CombinedOutput()
	if status := cmd.ProcessState.ExitCode(); status != exitUsage || !strings.Contains(string(out), "bareclaw send desk") {
		t.Errorf("status %d: %s", status, out)
	}
	dumb := exec.Command(g.cmd.Path, "chat", "desk")
	dumb.Env, dumb.Dir = append(slices.Clone(g.env), "TERM=dumb"), g.path("work")
	g.displayed(dumb).exits(exitUsage)
	stopped := newMachine(t).display("chat")
	stopped.sees("bareclaw serve", "bareclaw doctor")
	if status := stopped.ends(); status != 3 {
		t.Errorf("without a gateway the status is %d, want 3", status)
	}
}
