package observe

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/botapi"
	"bareclaw/internal/testkit/check"
	"bareclaw/observe/discovery"
	"bareclaw/observe/findings"
)

// A chat has an observed app, of which its people are told.
type chat struct {
	*machine

	gateway  *harness.Gateway
	telegram *botapi.Server
	people   *botapi.Chat
	now      discovery.Record // of the observer
}

// newChat starts a gateway and an observer.
func newChat(t *testing.T) *chat {
	t.Helper()
	t.Parallel()
	m, telegram, _, people := harness.NewChat(t, appVariable+"=plain", "BARECLAW_OBSERVE_NOTIFY=tg-7")
	c := &chat{
		machine:  &machine{m},
		telegram: telegram,
		people:   people,
	}
	t.Cleanup(c.end)
	c.mark()
	c.gateway = m.Start()
	o := c.observe()
	c.now = c.answers(0)
	c.said(o, "Problems are told on the channel tg-7.") // its words come by a pipe
	return c
}

// A kept finding is one in the file of the app.
type kept struct {
	Finding struct {
		ID          string         `json:"id"`
		State       findings.State `json:"state"`
		Occurrences int            `json:"occurrences"`
	} `json:"finding"`
}

// found returns what is in the file of the app.
func (c *chat) found() (all []kept) {
	var file struct {
		Findings []kept `json:"findings"`
	}
	text := c.file()
	if err := json.Unmarshal([]byte(text), &file); text != "" && err != nil {
		c.T.Errorf("the file of findings: %v: %s", err, text)
	}
	return file.Findings
}

func (c *chat) file() string { return c.Contents("work/.brakit/findings.json") }

// hasPush reports whether the observer has to tell something, and does not know that people know it.
func (c *chat) hasPush() bool { return strings.Contains(c.file(), `"push"`) }

// shows has the app show its problem, and waits until it is on the disk.
func (c *chat) shows() {
	c.T.Helper()
	c.get(c.now, "/secret")
	c.Eventually("something is found", func() bool { return len(c.found()) > 0 })
}

// again kills the observer, and starts another one.
func (c *chat) again() {
	c.T.Helper()
	check.OK(c.T, proc.Signal(c.now.PID, c.now.Start, syscall.SIGKILL))
	c.Eventually("the observer is gone", func() bool { return !c.now.Alive() })
	before := c.found()
	c.observe()
	c.now = c.answers(c.now.PID)
	if after := c.found(); fmt.Sprint(after) != fmt.Sprint(before) {
		c.T.Errorf("kept is %+v, was %+v", after, before)
	}
}

// restart kills the gateway, and starts another one.
func (c *chat) restart() {
	c.T.Helper()
	c.gateway.Kill()
	c.gateway = c.Machine.Start()
}

// told waits until people are told of the problem, and fails if they are told twice. Another message comes after all
// that the gateway has to tell still.
func (c *chat) told() {
	c.T.Helper()
	told := c.people.AwaitText("1 problem in work", "GET /secret")
	c.Eventually("the observer knows that people were told", func() bool { return !c.hasPush() })
	c.gateway.Must("POST", "/send", harness.Obj{"channel": "tg-7", "text": "last"}, 200)
	c.people.AwaitText("last")
	if n := harness.CountText(c.people, "GET /secret"); n != 1 {
		c.T.Errorf("people are told %d times:\n%s", n, c.telegram.Dump())
	}
	id := regexp.MustCompile(`\b[0-9a-f]{16}\b`).FindString(told.Text)
	all := c.found()
	if len(all) != 1 || all[0].Finding.ID != id || all[0].Finding.State != findings.Open || all[0].Finding.Occurrences != 1 {
		c.T.Errorf("people are told of %s, and kept is %+v", id, all)
	}
}

// ends ends observer and gateway, and fails if somebody is left.
func (c *chat) ends() {
	c.T.Helper()
	c.Command(exitcode.OK, "observe", "stop")
	c.nobodyIsLeft()
	c.gateway.Balanced()
}

// TestToldOnce: whoever is killed while people are to be told, the observer or the gateway, they are told once, and nothing
// of what was found is lost.
func TestToldOnce(t *testing.T) {
	for name, kill := range map[string]func(c *chat){
		"observer, while it gathers": func(c *chat) {
			c.shows()
			c.again()
		},
		"observer, while the gateway tells": func(c *chat) {
			held := c.telegram.Hold("sendMessage", 7)
			c.shows()
			c.telegram.Await(c.T, "the push", held.Reached)
			c.again()
			held.Release()
		},
		"observer, while its push waits": func(c *chat) {
			held := c.telegram.Hold("sendMessage", 7)
			gateway := &harness.PushTest{Gateway: c.gateway}
			first := gateway.Post(c.T.Context(), harness.Obj{"channel": "tg-7", "text": "first"})
			c.telegram.Await(c.T, "the first", held.Reached)
			c.shows()
			c.Eventually("the push waits", func() bool { return gateway.Pushes("pending") == 2 })
			c.again()
			held.Release()
			first.Answer(200)
		},
		"observer, once people are told": func(c *chat) {
			held := c.telegram.HoldAnswer("sendMessage", 7)
			c.shows()
			c.telegram.Await(c.T, "the push", held.Reached)
			c.again()
			held.Release()
		},
		"gateway, before it is asked": func(c *chat) {
			c.gateway.Kill()
			c.shows()
			c.Eventually("the observer wants to tell", c.hasPush)
			c.gateway = c.Machine.Start()
		},
		"gateway, while it tells": func(c *chat) {
			held := c.telegram.Hold("sendMessage", 7)
			c.shows()
			c.telegram.Await(c.T, "the push", held.Reached)
			c.restart()
		},
		"both, while the gateway tells": func(c *chat) {
			held := c.telegram.Hold("sendMessage", 7)
			c.shows()
			c.telegram.Await(c.T, "the push", held.Reached)
			c.gateway.Kill()
			c.again()
			c.gateway = c.Machine.Start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChat(t)
			kill(c)
			c.told()
			c.ends()
		})
	}
}

// crashes has the app show its problem and end, and returns its observer.
func (c *chat) crashes() *harness.Invocation {
	c.T.Helper()
	o := c.Invoke(nil, "observe", "--", os.Args[0], "-test.run=^TestApp$")
	c.now = c.answers(c.now.PID)
	c.get(c.now, "/secret")
	c.exit(c.now, 7)
	return o
}

// TestCrashIsTold: what is found of an app that ends at once is told, on the channel and in the terminal.
func TestCrashIsTold(t *testing.T) {
	c := newChat(t)
	o := c.crashes().Wait(7)
	o.Tells("The app has ended with status 7.", "What was found last is told on the channel tg-7.")
	c.told()
	c.nobodyIsLeft()
	c.gateway.Balanced()
}

// TestCrashWithoutGateway: what is found of an app that ends while the gateway is away is told by the next observer, once.
func TestCrashWithoutGateway(t *testing.T) {
	c := newChat(t)
	c.gateway.Kill()
	c.crashes().Wait(7).Tells("is told when the app is observed again")
	if !c.hasPush() {
		t.Error("nothing is kept")
	}
	c.gateway = c.Machine.Start()
	c.observe()
	c.now = c.answers(0)
	c.told()
	c.ends()
}

// TestStopIsTold: what is found right before a person ends the observer is told too.
func TestStopIsTold(t *testing.T) {
	c := newChat(t)
	c.get(c.now, "/secret")
	c.Command(exitcode.OK, "observe", "stop")
	c.told()
	c.nobodyIsLeft()
	c.gateway.Balanced()
}

// TestResolvedIsTold: a gateway is killed while people are to be told that a problem is gone: they are told once.
func TestResolvedIsTold(t *testing.T) {
	c := newChat(t)
	c.shows()
	c.told()
	check.OK(t, os.WriteFile(c.Path("work/fixed"), nil, 0o600))
	held := c.telegram.Hold("sendMessage", 7)
	for range 5 {
		c.get(c.now, "/secret")
	}
	c.Eventually("the problem is gone", func() bool { return c.found()[0].Finding.State == findings.Resolved })
	c.telegram.Await(t, "the push", held.Reached)
	c.restart()
	c.people.AwaitText("Resolved in work: Secret in a response on GET /secret")
	c.again()
	c.gateway.Must("POST", "/send", harness.Obj{"channel": "tg-7", "text": "last"}, 200)
	if n := harness.CountText(c.people, "Resolved in work"); n != 1 {
		t.Errorf("people are told %d times:\n%s", n, c.telegram.Dump())
	}
	c.ends()
}
