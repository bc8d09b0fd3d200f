package command

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
)

// chat opens a chat on a channel, which waits for words.
func chat(g *harness.Gateway, channel string) *harness.Display {
	g.T.Helper()
	x := display(g.Machine, "chat", channel)
	x.Sees("Channel "+channel, "Write to Claude")
	return x
}

// TestChat talks in a terminal: an answer, a tool that is allowed and one that is
// refused with words, a message while a turn runs, what another adapter's sender
// starts, and the words of before when it is opened again.
func TestChat(t *testing.T) {
	t.Parallel()
	g := harness.NewMachine(t).Start()
	x := chat(g, "desk")
	x.Enters("echo good morning")
	x.Sees("› echo good morning", "\ngood morning\n")

	x.Enters("tool 0 ask ls -la")
	x.Sees("? Allow Bash?", "ask ls -la", "[y] allow", "Waiting for permission")
	x.Types("y" + harness.KeyEnter)
	x.Sees("Bash ask ls -la: allowed", "✓ Bash: ask ls -la", "final: ran: ask ls -la")

	x.Enters("tool 0 ask rm -rf /")
	x.Sees("ask rm -rf /", "[y] allow")
	x.Enters("rather not")
	x.Sees("› rather not", "Bash ask rm -rf /: denied", "\nfinal: rather not\n· ") // the turn is over: what follows is two turns

	x.Enters("wait " + g.Path("go"))
	x.Sees("Working")
	x.Enters("echo after that")
	x.Sees("1 waiting")
	g.Touch("go")
	x.Sees("waited for "+g.Path("go"), "\nafter that\n")

	g.Say("desk", "echo from elsewhere")
	x.Sees("\nfrom elsewhere\n· ") // the turn is over: Ctrl-C would end it

	x.Types(harness.KeyUp)
	x.Waits("shows what was written", func(screen string) bool { return !strings.Contains(screen, "Write to Claude") })
	x.Sees("› echo after that\n")
	x.Types(harness.KeyCtrlC) // empties the prompt
	x.Sees("Write to Claude")
	x.Types(harness.KeyCtrlD)
	x.Exits(harness.ExitOK)
	chat(g, "desk").Sees("from elsewhere")
	g.Balanced()
}

// TestChatCommands asks the gateway itself: its commands cost no turn, and every other word with a
// slash is Claude's.
func TestChatCommands(t *testing.T) {
	t.Parallel()
	g := harness.NewMachine(t).Start()
	x := chat(g, "desk")
	x.Enters("/status")
	x.Sees("· Now: idle", "  Waiting: nothing", "  Gateway: bareclaw")
	x.Enters("/model haiku")
	x.Sees("From the next turn on the model is haiku.", "✓ haiku  /model haiku")
	x.Enters("/mode plan")
	x.Sees("From the next turn on the permission mode is plan.")
	x.Enters("wait " + g.Path("never"))
	x.Sees("Working")
	x.Enters("echo after that")
	x.Sees("1 waiting")
	x.Enters("/queue")
	x.Sees("1 message is waiting:", "Drop 1     /queue drop ")
	x.Enters("/stop")
	x.Sees("Stopped within", "\nafter that\n· ")
	x.Enters("/context")
	x.Sees("fakeclaude has no context")
	x.Enters("/help")
	x.Sees("Alt-Enter", "/why – what became of a message")
	own := g.Channel("desk")
	if own.Str("model") != "haiku" || own.Str("permission_mode") != "plan" {
		t.Errorf("the channel has %v", own)
	}
	g.Balanced()
}

// TestChatQuestions answers what Claude asks: with a number, with several, with words, and
// a plan that is to be changed and then carried out.
func TestChatQuestions(t *testing.T) {
	t.Parallel()
	g := harness.NewMachine(t).Start()
	x := chat(g, "desk")
	g.Tell("desk", harness.Calling(t, "AskUserQuestion", harness.Obj{"questions": []harness.Obj{harness.Colours(), harness.Toppings()}}), "can_ask", true)
	x.Sees("? Which colour?", "[2] Blue: cold", "a number, or words of your own")
	x.Enters("7")
	x.Sees("There is no option 7", "? ")
	x.Enters("2")
	x.Sees("? Which toppings?", "[3] Olives", "numbers with commas")
	x.Enters("1, 3")
	x.Sees("AskUserQuestion: allowed", `colour?":"Blue"`, "Cheese,")

	g.Tell("desk", harness.Calling(t, "AskUserQuestion", harness.Obj{"questions": []harness.Obj{harness.Colours()}}), "can_ask", true)
	x.Waits("asks once more", func(screen string) bool { return strings.Contains(screen, "Waiting for your answer") })
	x.Enters("violet")
	x.Sees(`:"violet"`)

	g.Tell("desk", harness.Calling(t, "ExitPlanMode", harness.Obj{"plan": "1. Look\n2. Leap"}), "can_ask", true)
	x.Sees("2. Leap", "Carry out this plan?")
	x.Types("y" + harness.KeyEnter)
	x.Sees("ExitPlanMode: allowed")

	g.Tell("desk", harness.Calling(t, "Bash", harness.Obj{"command": "ls -la", "dangerouslyDisableSandbox": true, "description": "Say hello"}), "can_ask", true)
	x.Sees("? Allow Bash?\n    ls -la\n    dangerouslyDisableSandbox: true\n    description: Say hello\n? [y]") // every member, and nothing else
	x.Types("n" + harness.KeyEnter)
	x.Sees("ls -la: denied")
	g.Balanced()
}

// TestChatStops stops a turn with Ctrl-C, and leaves with two, while a turn goes on.
func TestChatStops(t *testing.T) {
	t.Parallel()
	g := harness.NewMachine(t).Start()
	x := chat(g, "desk")
	for i, key := range []string{harness.KeyCtrlC, harness.KeyEscape} {
		x.Enters("wait " + g.Path("never"))
		g.Eventually("the turn runs", func() bool { return g.Begun("wait ") == i+1 })
		x.Sees("Working")
		x.Types(key)
		x.Waits("says that it was stopped", func(screen string) bool {
			return strings.Count(screen, "· interrupted") == i+1 && !strings.Contains(screen, "Working")
		})
	}
	x.Enters("wait " + g.Path("go"))
	g.Eventually("the turn runs", func() bool { return g.Begun("wait "+g.Path("go")) == 1 })
	x.Sees("Working")
	x.Types(harness.KeyCtrlD)
	x.Exits(harness.ExitOK)
	x.Sees("The turn goes on")
	again := chat(g, "desk")
	again.Sees("A turn is running")
	g.Touch("go")
	again.Sees("waited for " + g.Path("go") + "\n· ") // the turn is over: Ctrl-C would end it
	again.Types(harness.KeyCtrlC)
	again.Sees("Ctrl-C once more")
	again.Waits("is left", func(string) bool { // the next one must come soon
		if !harness.Closed(again.Done) {
			again.Types(harness.KeyCtrlC)
		}
		return harness.Closed(again.Done)
	})
	again.Exits(harness.ExitOK)
	g.Balanced()
}

// TestChatOverRestarts talks while the gateway hands over, and dies and is started
// again: nothing is missed and nothing is there twice.
func TestChatOverRestarts(t *testing.T) {
	m, g := harness.Started(t)
	x := chat(g, "desk")
	x.Enters("wait " + g.Path("one"))
	g.Eventually("the turn runs", func() bool { return g.Begun("one") == 1 })
	g.Restart()
	g.Touch("one")
	x.Sees("\nwaited for " + g.Path("one"))

	x.Enters("wait " + g.Path("two"))
	g.Eventually("the turn runs", func() bool { return g.Begun("two") == 1 })
	g.Kill()
	x.Sees("The gateway is away")
	x.Types("echo sent while it was down" + harness.KeyEnter)
	g = m.Start()
	g.Touch("two")
	x.Sees("\nwaited for "+g.Path("two"), "\nsent while it was down")
	g.Balanced()
	for _, text := range []string{"\nwaited for " + g.Path("one"), "\nwaited for " + g.Path("two"), "\nsent while it was down"} {
		x.Waits(fmt.Sprintf("shows %q once", text), func(screen string) bool { return strings.Count(screen, text) == 1 }) // it may be being drawn
	}
	if !strings.Contains(x.Written(), "may be missing") || strings.Contains(x.Written(), "GET /") {
		t.Error("a person is not told, or is told in words of the API, that something may be missing")
	}
	_ = g.Cmd.Process.Signal(syscall.SIGTERM)
}

// TestChatAskedByTheDead kills the gateway, the host and claude while a permission is requested:
// the chat stops asking for the void permission, and goes on.
func TestChatAskedByTheDead(t *testing.T) {
	m, g := harness.Started(t)
	x := chat(g, "desk")
	x.Enters("tool 0 ask ls -la")
	x.Sees("[y] allow", "Waiting for permission")
	g.Kill()
	m.KillHost(m.Hosts()["desk"])
	g = m.Start()
	x.Sees("Bash ask ls -la: ", "A turn was cut", "[d] drop it") // void or, where that was not heard, waits no longer
	x.Enters("echo hello again")
	x.Sees("\nhello again\n")
	g.Balanced()
}

// TestChatIsHarmless has the terminal shown what would give it commands.
func TestChatIsHarmless(t *testing.T) {
	t.Parallel()
	g := harness.NewMachine(t).Start()
	x := chat(g, "desk")
	g.Say("desk", `raw {"text":"\u001b]0;owned\u0007\u001b[2Jgone\u202Etxt"}`)
	g.Say("desk", "echo \u009b31m and \u202e")
	x.Sees(" and ")
	if bad := regexp.MustCompile("\x1b\\]0;owned|\u009b|\u202e").FindString(x.Written()); bad != "" {
		t.Errorf("%q was written to the terminal", bad)
	}
}

// TestChatMarkdown shows Markdown as it is meant, with the tabs of code; with NO_COLOR as it is
// written.
func TestChatMarkdown(t *testing.T) {
	t.Parallel()
	g := harness.NewMachine(t).Start()
	for _, variable := range []string{"NO_COLOR=", "NO_COLOR=1"} {
		plain := variable != "NO_COLOR="
		x := display(g.With(variable), "chat", "desk")
		x.Sees("Write to Claude")
		g.Say("desk", "prompt\n\n**loud** words\n\n```\n\tcode\tx\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |")
		if plain {
			x.Sees("**loud** words", "| 1 | 2 |")
		} else {
			x.Sees("\nloud words", "\n1 │ 2")
		}
		x.Sees("        code    x")
		x.Waits("writes the tabs", func(string) bool { return strings.Contains(x.Written(), "\tcode\tx") })
	}
}

// TestChatColours uses colours, unless NO_COLOR is set.
func TestChatColours(t *testing.T) {
	t.Parallel()
	g := harness.NewMachine(t).Start()
	for _, variable := range []string{"NO_COLOR=", "NO_COLOR=1"} {
		x := display(g.With(variable), "chat", "desk")
		x.Sees("Write to Claude")
		x.Enters("apierror 500")
		x.Sees("! API Error", "api_error")
		if red := strings.Contains(x.Written(), "\x1b[31m"); red != (variable == "NO_COLOR=") {
			t.Errorf("%s: red is used: %v", variable, red)
		}
	}
}

// TestChatIsEnded ends the chat from outside: the terminal is as it was before, also where the
// chat was started with SIGHUP ignored, as by nohup.
func TestChatIsEnded(t *testing.T) {
	t.Parallel()
	g := harness.NewMachine(t).Start()
	for _, before := range []string{"", `trap "" HUP; `} {
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
			cmd := exec.Command("sh", "-c", before+`exec "$0" chat desk`, g.Cmd.Path)
			cmd.Env, cmd.Dir = append(slices.Clone(g.Env), "TERM=xterm-256color"), g.Path("work")
			x := g.Displayed(cmd)
			x.Sees("Channel desk", "Write to Claude")
			x.IsEnded(s)
			if status := x.Cmd.ProcessState.ExitCode(); status != exitcode.Interrupted {
				t.Errorf("%s: it ended with %v", s, x.Cmd.ProcessState)
			}
		}
	}
}

// TestChatNeedsATerminal says what to use in a script.
func TestChatNeedsATerminal(t *testing.T) {
	t.Parallel()
	g := harness.NewMachine(t).Start()
	g.Command(harness.ExitUsage, "chat", "desk").Tells("bareclaw send desk")
	display(g.With("TERM=dumb"), "chat", "desk").Exits(harness.ExitUsage)
	stopped := display(harness.NewMachine(t), "chat")
	stopped.Sees("bareclaw start")
	stopped.Exits(3)
}
