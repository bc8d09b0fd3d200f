package upgrade

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"bareclaw/heartbeat/program"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/botapi"
)

// A toldTest is a gateway of release v1 with a bot, and a chat that is told of upgrades.
type toldTest struct {
	*harness.Gateway
	api  *botapi.Server
	anna *botapi.User
	chat *botapi.Chat
}

func newToldTest(t *testing.T, trial string, settings ...string) *toldTest {
	t.Helper()
	m, api, anna, chat := harness.NewChat(t, settings...)
	m.Install("v1", trial)
	return &toldTest{Gateway: m.Start(), api: api, anna: anna, chat: chat}
}

// working has a turn run in the chat.
func (u *toldTest) working() *toldTest {
	u.T.Helper()
	u.chat.Send(u.anna, "wait "+u.Path("go"))
	u.Eventually("turn runs", func() bool { return u.Begun("wait") == 1 })
	return u
}

// upgrade starts an upgrade to a release, of which the chat is to hear.
func (u *toldTest) upgrade(release string) *harness.Invocation {
	u.T.Helper()
	return u.Invoke(nil, "upgrade", "--from", harness.ReleaseOf(u.T, release), "--channel", "tg-7")
}

// tells fails unless the chat has heard what became of the upgrade, once: now, and after
// one more restart.
func (u *toldTest) tells(verdict string) {
	u.T.Helper()
	told := func() (texts []string) {
		for _, m := range u.chat.FromBot() {
			if strings.HasPrefix(m.Text, "The gateway ") {
				texts = append(texts, m.Text)
			}
		}
		return texts
	}
	u.chat.AwaitText(verdict)
	u.Eventually("it is noted that the chat was told", func() bool { return u.Trial().Notified })
	u.Restart()
	u.Touch("go")
	if u.Begun("wait") > 0 {
		u.chat.AwaitText("waited for ")
	}
	u.Delivered()
	if texts := told(); len(texts) != 1 || !strings.Contains(texts[0], verdict) {
		u.T.Errorf("the chat was told %q, want once %q\n%s", texts, verdict, u.api.Dump())
	}
	u.Balanced()
}

// TestUpgradeIsTold upgrades the gateway while a chat is answered: the chat hears what became of it,
// once, whatever is killed or refused.
func TestUpgradeIsTold(t *testing.T) {
	t.Parallel()
	const back = "The gateway went back from v2 to v1: the new program ended while it was on trial"
	signal := func(t *testing.T, pid int, start uint64, sig syscall.Signal) {
		t.Helper()
		if err := proc.Signal(pid, start, sig); err != nil {
			t.Error(err)
		}
	}
	for name, test := range map[string]func(t *testing.T){
		"it stays": func(t *testing.T) {
			u := newToldTest(t, "1s").working()
			u.upgrade("v2").Says(harness.ExitOK, "Upgraded from v1 to v2")
			u.Serves("v2")
			u.tells("The gateway was upgraded from v1 to v2.")
		},
		"it does not start": func(t *testing.T) {
			u := newToldTest(t, "", harness.MannerVariable+"=dies").working()
			u.upgrade("broken").Says(harness.ExitFailure, "exit status 7")
			u.tells("The gateway went back from broken to v1: ")
		},
		"it is killed": func(t *testing.T) {
			u := newToldTest(t, "").working()
			old := u.Worker()
			upgrade := u.upgrade("v2")
			now := u.OnTrial(old)
			signal(t, now.Worker, now.WorkerStart, syscall.SIGKILL)
			upgrade.Says(harness.ExitFailure, "went back from v2 to v1")
			u.Serves("v1")
			u.tells(back)
		},
		"both are killed": func(t *testing.T) {
			u := newToldTest(t, "1h").working()
			old := u.Worker()
			u.Must("POST", "/upgrade", harness.Obj{"path": harness.ReleaseOf(t, "v2"), "channel": "tg-7"}, 200)
			u.OnTrial(old)
			u.Kill()
			u.Env = append(slices.Clone(u.Env), harness.TrialVariable+"=1s")
			u.Gateway = u.Start()
			u.Serves("v2")
			u.tells("The gateway was upgraded from v1 to v2.")
		},
		"the channel is named": func(t *testing.T) {
			u := newToldTest(t, "").working()
			u.Fails("v2", syscall.SIGKILL, "ended while it was on trial", "--channel", "tg-7")
			u.Serves("v1")
			u.tells(back)
		},
		"Telegram refuses it first": func(t *testing.T) {
			u := newToldTest(t, "1s")
			u.api.Script("sendMessage", u.chat.ID(), botapi.Refuse(400, "Bad Request: not enough rights to send text messages to the chat"), botapi.Refuse(400, "Bad Request: not enough rights to send text messages to the chat"))
			u.upgrade("v2").Says(harness.ExitOK, "Upgraded from v1 to v2")
			u.Serves("v2")
			u.tells("The gateway was upgraded from v1 to v2.")
		},
		"the gateway ends before Telegram takes it": func(t *testing.T) {
			u := newToldTest(t, "1s")
			u.api.Script("sendMessage", u.chat.ID(), botapi.TooMany(5))
			u.upgrade("v2").Says(harness.ExitOK, "Upgraded from v1 to v2")
			u.Eventually("Telegram has been asked", func() bool { return u.api.Scripted() == 0 })
			u.Signal(syscall.SIGTERM)
			u.Gateway = u.Start()
			u.Serves("v2")
			u.tells("The gateway was upgraded from v1 to v2.")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// TestUpgradeHidesNoVerdict has one upgrade follow the other while Telegram takes its
// time: the chat hears of both.
func TestUpgradeHidesNoVerdict(t *testing.T) {
	t.Parallel()
	u := newToldTest(t, "1s")
	u.api.Script("sendMessage", u.chat.ID(), botapi.TooMany(3))
	u.Upgrades(harness.ExitOK, "Upgraded from v1 to v2", "--from", harness.ReleaseOf(t, "v2"), "--channel", "tg-7")
	u.Upgrades(harness.ExitOK, "Went back from v2 to v1", "--rollback", "--channel", "tg-7")
	u.Serves("v1")
	u.chat.AwaitText("The gateway was upgraded from v2 to v1.")
	u.Eventually("it is noted", func() bool { return u.Trial().Notified })
	u.Delivered()
	for _, text := range []string{"from v1 to v2.", "from v2 to v1."} {
		if n := harness.CountText(u.chat, "The gateway was upgraded "+text); n != 1 {
			t.Errorf("the chat was told %d times of the one %s\n%s", n, text, u.api.Dump())
		}
	}
	if rec := u.Trial(); rec.State != program.Confirmed {
		t.Errorf("the record is %+v", rec)
	}
}
