package e2e

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/heartbeat/program"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/botapi"
	"bareclaw/sessionhost/protocol"
)

// A toldTest is a gateway of release v1 with a bot, and a chat from which an upgrade is
// asked for.
type toldTest struct {
	*gateway
	api     *botapi.Server
	anna    *botapi.User
	chat    *botapi.Chat
	session []string // the environment that claude's Bash has in this chat
}

func newToldTest(t *testing.T, trial string, settings ...string) *toldTest {
	t.Helper()
	m, api, anna, chat := newChat(t, settings...)
	m.install("v1", trial)
	u := &toldTest{gateway: m.start(), api: api, anna: anna, chat: chat}
	marker := u.say("tg-7", "env "+protocol.EnvMarkVariable).str("text")
	u.session = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + m.path("home"), client.SocketVariable + "=" + u.sock, protocol.EnvMarkVariable + "=" + marker,
	}
	return u
}

// working has a turn run in the chat.
func (u *toldTest) working() *toldTest {
	u.t.Helper()
	u.chat.Send(u.anna, "wait "+u.path("go"))
	u.eventually("turn runs", func() bool { return u.begun("wait") == 1 })
	return u
}

// commandedInside starts a command of the installed program as claude's Bash does.
func (u *toldTest) commandedInside(args ...string) func() commandResult {
	in := *u.machine
	in.env = u.session
	return in.commanded(args...)
}

// tells fails unless the chat has heard what became of the upgrade, once: now, and after
// one more restart.
func (u *toldTest) tells(verdict string) {
	u.t.Helper()
	told := func() (texts []string) {
		for _, m := range u.chat.FromBot() {
			if strings.HasPrefix(m.Text, "The gateway ") {
				texts = append(texts, m.Text)
			}
		}
		return texts
	}
	u.chat.AwaitText(verdict)
	u.eventually("it is noted that the chat was told", func() bool { return u.trial().Notified })
	generation := u.generation()
	u.must("POST", "/restart", nil, 200)
	u.restarted(generation)
	u.touch("go")
	if u.begun("wait") > 0 {
		u.chat.AwaitText("waited for ")
	}
	u.delivered()
	if texts := told(); len(texts) != 1 || !strings.Contains(texts[0], verdict) {
		u.t.Errorf("the chat was told %q, want once %q\n%s", texts, verdict, u.api.Dump())
	}
	u.balanced()
}

// TestUpgradeIsTold has claude upgrade the gateway from a chat: that hears what became of it, without
// having been named, and once, whatever is killed or refused.
func TestUpgradeIsTold(t *testing.T) {
	t.Parallel()
	const back = "The gateway went back from v2 to v1: the new program ended while it was on trial"
	signal := func(t *testing.T, pid int, start uint64, sig syscall.Signal) {
		t.Helper()
		if err := proc.Signal(pid, start, sig); err != nil {
			t.Error(err)
		}
	}
	ends := func(t *testing.T, r commandResult, status int, says string) {
		t.Helper()
		if r.status != status || !strings.Contains(r.out+r.err, says) {
			t.Errorf("upgrade ends with %d, want %d with %q\n%s%s", r.status, status, says, r.out, r.err)
		}
	}
	for name, test := range map[string]func(t *testing.T){
		"it stays": func(t *testing.T) {
			u := newToldTest(t, "1s").working()
			ends(t, u.commandedInside("upgrade", "--from", releaseOf(t, "v2"))(), exitOK, "Upgraded from v1 to v2")
			u.serves("v2")
			u.tells("The gateway was upgraded from v1 to v2.")
		},
		"it does not start": func(t *testing.T) {
			u := newToldTest(t, "", mannerVariable+"=dies").working()
			ends(t, u.commandedInside("upgrade", "--from", releaseOf(t, "broken"))(), exitFailure, "exit status 7")
			u.tells("The gateway went back from broken to v1: ")
		},
		"it is killed": func(t *testing.T) {
			u := newToldTest(t, "").working()
			wait := u.commandedInside("upgrade", "--from", releaseOf(t, "v2"))
			now := u.onTrial(u.cmd.Process.Pid)
			signal(t, now.PID, now.Start, syscall.SIGKILL)
			ends(t, wait(), exitFailure, "went back from v2 to v1")
			u.serves("v1")
			u.tells(back)
		},
		"both are killed": func(t *testing.T) {
			u := newToldTest(t, "1h").working()
			u.must("POST", "/upgrade", obj{"path": releaseOf(t, "v2"), "channel": "tg-7"}, 200)
			now := u.onTrial(u.cmd.Process.Pid)
			signal(t, now.PID, now.Start, syscall.SIGSTOP) // or it would leave, or the guard go back
			_ = u.cmd.Process.Kill()
			signal(t, now.PID, now.Start, syscall.SIGKILL)
			u.waitEnd()
			u.eventually("the new process has ended", func() bool { return !proc.Alive(now.PID, now.Start) })
			u.env = append(slices.Clone(u.env), trialVariable+"=1s")
			u.gateway = u.start()
			u.serves("v2")
			u.tells("The gateway was upgraded from v1 to v2.")
		},
		"the channel is named": func(t *testing.T) {
			u := newToldTest(t, "").working()
			u.fails("v2", syscall.SIGKILL, "ended while it was on trial", "--channel", "tg-7")
			u.serves("v1")
			u.tells(back)
		},
		"Telegram refuses it first": func(t *testing.T) {
			u := newToldTest(t, "1s")
			u.api.Script("sendMessage", u.chat.ID(), botapi.Refuse(400, "Bad Request: not just now"), botapi.Refuse(400, "Bad Request: not just now"))
			ends(t, u.commandedInside("upgrade", "--from", releaseOf(t, "v2"))(), exitOK, "Upgraded from v1 to v2")
			u.serves("v2")
			u.tells("The gateway was upgraded from v1 to v2.")
		},
		"the gateway ends before Telegram takes it": func(t *testing.T) {
			u := newToldTest(t, "1s")
			u.api.Script("sendMessage", u.chat.ID(), botapi.TooMany(5))
			ends(t, u.commandedInside("upgrade", "--from", releaseOf(t, "v2"))(), exitOK, "Upgraded from v1 to v2")
			u.eventually("Telegram has been asked", func() bool { return u.api.Scripted() == 0 })
			u.signal(syscall.SIGTERM)
			u.gateway = u.start()
			u.serves("v2")
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
	u.upgrades(exitOK, "Upgraded from v1 to v2", "--from", releaseOf(t, "v2"), "--channel", "tg-7")
	u.upgrades(exitOK, "Upgraded from v2 to v1", "--rollback", "--channel", "tg-7")
	u.serves("v1")
	u.chat.AwaitText("The gateway was upgraded from v2 to v1.")
	u.eventually("it is noted", func() bool { return u.trial().Notified })
	u.delivered()
	for _, text := range []string{"from v1 to v2.", "from v2 to v1."} {
		if n := countText(u.chat, "The gateway was upgraded "+text); n != 1 {
			t.Errorf("the chat was told %d times of the one %s\n%s", n, text, u.api.Dump())
		}
	}
	if rec := u.trial(); rec.State != program.Confirmed {
		t.Errorf("the record is %+v", rec)
	}
}
