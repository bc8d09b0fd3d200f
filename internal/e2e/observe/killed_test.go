package observe

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
	"bareclaw/observe/findings"
)

// killApp kills the app, which a shell starts again.
func (c *chat) killApp() {
	c.T.Helper()
	var pid int
	ask := func() (now int) {
		_, _ = fmt.Sscanf(c.get(c.now, "/"), "pid %d", &now)
		return now
	}
	pid = ask()
	start, err := proc.StartTime(pid)
	check.OK(c.T, err)
	check.OK(c.T, proc.Signal(pid, start, syscall.SIGKILL))
	c.Eventually("the app has started again", func() bool {
		now := ask()
		return now != 0 && now != pid
	})
}

// report says what became of the fix.
func (c *chat) report(status findings.FixStatus) {
	c.T.Helper()
	check.OK(c.T, client(c.now).Report(c.T.Context(), c.found()[0].Finding.ID, status, "a note"))
}

// reaches waits until the finding is in a state, and says so on the disk.
func (c *chat) reaches(state findings.State, occurrences int) {
	c.T.Helper()
	c.Eventually(fmt.Sprintf("the finding is %s after %d", state, occurrences), func() bool {
		all := c.found()
		return len(all) == 1 && all[0].Finding.State == state && all[0].Finding.Occurrences == occurrences
	})
}

// hears waits until people have read something, and the observer knows that.
func (c *chat) hears(texts ...string) {
	c.T.Helper()
	c.people.AwaitText(texts...)
	c.Eventually("the observer knows that people were told", func() bool { return !c.hasPush() })
}

// TestKilledAtEachStep: a finding is found, said to be fixed, seen again, fixed, resolved and reopened. At each step, before
// people are told, the observer, the app or the gateway is killed, or all are: people are told each thing once, and nothing is lost.
func TestKilledAtEachStep(t *testing.T) {
	victims := map[string]func(c *chat){
		"observer": (*chat).again,
		"app":      (*chat).killApp,
		"gateway":  (*chat).restart,
	}
	victims["all"] = func(c *chat) {
		c.gateway.Kill()
		c.again()
		c.gateway = c.Machine.Start()
	}
	for name, kill := range victims {
		t.Run(name, func(t *testing.T) {
			c := newChat(t)
			if name == "app" {
				c.Invoke(nil, "observe", "--", "sh", "-c", loop, os.Args[0], "-test.run=^TestApp$")
				c.now = c.answers(c.now.PID)
			}
			fixed := c.Path("work/fixed")
			see := func() { c.get(c.now, "/secret") }
			see()
			c.reaches(findings.Open, 1)
			kill(c)
			c.hears("1 problem in work", "critical:")

			c.report(findings.FixBegun)
			kill(c)
			c.reaches(findings.Fixing, 1)
			c.report(findings.Fixed)
			kill(c)
			see()
			c.reaches(findings.Open, 2)
			kill(c)
			c.hears("1 problem in work", "still there after the fix")

			c.report(findings.Fixed)
			check.OK(t, os.WriteFile(fixed, nil, 0o600))
			const before = 3
			for range before {
				see()
			}
			c.Eventually("clean requests are on the disk", func() bool { return strings.Contains(c.file(), fmt.Sprintf(`"cleanHits": %d`, before)) })
			kill(c)
			for range findings.CleanHitsForResolution - before {
				see()
			}
			c.reaches(findings.Resolved, 2)
			kill(c)
			c.hears("Resolved in work")

			check.OK(t, os.Remove(fixed))
			see()
			c.reaches(findings.Open, 3)
			kill(c)
			c.hears("1 problem in work", "came back")
			kill(c)
			c.gateway.Must("POST", "/send", harness.Obj{"channel": "tg-7", "text": "last"}, 200)
			c.people.AwaitText("last")
			for text, want := range map[string]int{
				"problem in work":  3,
				"still there":      1,
				"came back":        1,
				"Resolved in work": 1,
			} {
				if n := harness.CountText(c.people, text); n != want {
					t.Errorf("%q is told %d times, want %d:\n%s", text, n, want, c.telegram.Dump())
				}
			}
			c.Command(exitcode.OK, "observe", "stop")
			c.nobodyIsLeft()
			c.gateway.Balanced()
		})
	}
}
