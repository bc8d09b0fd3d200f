package command

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
)

// schedule runs `bareclaw schedule` with a text on standard input. It has to end with that
// status.
func schedule(m *harness.Machine, status int, in string, args ...string) *harness.Invocation {
	m.T.Helper()
	return m.Invoke(strings.NewReader(in), append([]string{"schedule"}, args...)...).Wait(status)
}

// TestScheduleCommands makes, shows and removes schedules as a person does, in front of
// a gateway that asks for a token.
func TestScheduleCommands(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_HTTP_TOKEN="+harness.Token, "TZ=Europe/Berlin")
	g := m.Start().Bearer()
	for _, c := range []struct {
		in   string
		args []string
		want []string
	}{
		{"", []string{"echo hello", "--cron", "0 9 * * 1-5"}, []string{"on ops: cron 0 9 * * 1-5 (Europe/Berlin)\n", "next ", " 09:00 (in ", "then "}},
		{"echo from\nthere\n", []string{"-", "--in", "20m", "--missed", "skip"}, []string{"(in 20 min)\n", "Nobody is behind ops: the answers stand in `bareclaw messages ops`."}},
		{"", []string{"echo tea", "--every", "2h", "--tz", "Asia/Tokyo", "--budget", "0.5"}, []string{"every 2h (Asia/Tokyo)", "(in 2 h)"}},
		{"", []string{"echo noon", "--at", "2031-01-31 12:00"}, []string{"at 2031-01-31T12:00:00+01:00", "Fri 31 Jan 2031 12:00"}},
		{"", []string{"echo checked", "--every", "1d", "--precheck", "test -e x"}, []string{"every 24h"}},
	} {
		i := schedule(m, exitcode.OK, c.in, append([]string{"add", "ops"}, c.args...)...).Shows(c.want...)
		if told := i.Err.String(); told != "" {
			t.Errorf("%q: it tells %q", c.args, told)
		}
	}
	list := schedule(m, exitcode.OK, "", "list", "--json").Document().Array("schedules")
	if len(list) != 5 || list[1].Str("text") != "echo from\nthere" {
		t.Fatalf("the list is %v", list)
	}
	if out := schedule(m, exitcode.OK, "").Shows("echo from there").Out.String(); strings.Count(out, "\n") != 7 || !strings.Contains(out, "Times are those of Europe/Berlin") { // the same as list
		t.Errorf("the list is\n%s", out)
	}
	id := g.Schedule("ops", "echo \u202e\u009b31mnow", harness.Due(time.Second), "precheck", "exit 4")
	g.Occurred(id)
	schedule(m, exitcode.OK, "", "show", id).Shows(id+" (done)", "precheck  exit 4", "skipped: The precheck ended with status 4", "\uFFFD\uFFFD31mnow")
	shown := schedule(m, exitcode.OK, "", "show", "--json", id).Document()
	occurred := shown.Array("occurrences")
	if shown.Str("text") != "echo \u202e\u009b31mnow" || len(occurred) != 1 || occurred[0].JSON["status"] != 4.0 {
		t.Errorf("shown is %s", shown.Body)
	}
	for _, s := range list {
		schedule(m, exitcode.OK, "", "remove", s.Str("id")).Prints("Removed schedule " + s.Str("id") + ".\n")
	}
	schedule(m, exitcode.OK, "", "remove", id, "--json").Prints(`{"status":"removed","id":"` + id + `"}` + "\n")
	schedule(m, exitcode.OK, "", "list").Shows("There are no schedules")
	schedule(m, exitcode.Failed, "", "remove", id).Tells("bareclaw: there is no schedule with this id")
	schedule(m, exitcode.Usage, "", "add", "ops", "x", "--in", "20m", "--every", "2h").Tells("--in")
	schedule(m, exitcode.Usage, "", "add", "ops", "x").Tells("--cron")
	g.Signal(syscall.SIGTERM)
	schedule(m, exitcode.Unreachable, "", "list").Tells("the gateway is not running")
}

// TestStatusShowsSchedules: what the real gateway says of schedules is on the screen, the
// next ones first, and those that are over are not.
func TestStatusShowsSchedules(t *testing.T) {
	m, g := harness.Started(t, "TZ=Europe/Berlin")
	soon := harness.Due(time.Second)
	g.Occurred(g.Schedule("ops", "echo over", soon))
	g.Schedule("tg-1", "echo third", "at 2031-03-03 12:00")
	g.Schedule("ops", "echo first\nand more", "at 2031-01-31 09:00")
	g.Schedule("desk", "echo second", "cron 30 7 1 2 *", "tz", "Asia/Tokyo")
	g.Schedule("desk", "echo fourth", "at 2031-04-04 12:00")
	i := m.Command(harness.ExitOK, "status").Shows("schedules", "2031-01-31 09:00 on ops: echo first", "echo second", "echo third")
	if out := i.Out.String(); strings.Contains(out, "echo fourth") || strings.Contains(out, "echo over") || strings.Index(out, "echo second") > strings.Index(out, "echo first") {
		t.Errorf("want the three that come next, in their order:\n%s", out)
	}
	shown := m.Command(harness.ExitOK, "status", "--json").Document().Array("schedules")
	listed := m.Command(harness.ExitOK, "schedule", "list", "--json").Document().Array("schedules")
	if len(shown) != 5 || len(listed) != 5 {
		t.Errorf("status has %d schedules and the list %d, want 5", len(shown), len(listed))
	}
}

// TestScheduleTimesAreOfTheirZone: a schedule with a zone is listed by the clocks that it
// goes by, whatever the zone of the machine.
func TestScheduleTimesAreOfTheirZone(t *testing.T) {
	m, g := harness.Started(t, "TZ=Europe/Berlin")
	times := []string{"Fri 31 Jan 2031 12:00", "(Asia/Tokyo)"}
	schedule(m, exitcode.OK, "", "add", "ops", "echo tea", "--at", "2031-01-31 12:00", "--tz", "Asia/Tokyo").Shows(times...)
	schedule(m, exitcode.OK, "", "list").Shows(times...)
	schedule(m, exitcode.OK, "", "show", g.Must("GET", "/schedules", nil, 200).Array("schedules")[0].Str("id")).Shows(times...)
}

// TestScheduleAddSpeaksOfItsFlags: what the gateway refuses is told in the words of the
// command line.
func TestScheduleAddSpeaksOfItsFlags(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Start()
	for _, c := range []struct {
		in   string
		args []string
		want string
	}{
		{"", []string{"ops", "x", "--cron", "0 9 * *"}, `--cron: "0 9 * *" is not a cron expression`},
		{"", []string{"ops", "x", "--cron", "0 9 * *"}, "4 fields"},
		{"", []string{"ops", "x", "--cron", "@every 2h"}, "--every"},
		{"", []string{"ops", "x", "--cron", "TZ=UTC 9 * * *"}, "--tz"},
		{"", []string{"ops", "x", "--at", "tomorrow"}, `--at: "tomorrow" is not a time`},
		{"", []string{"ops", "x", "--at", "2001-01-01 10:00"}, "--at: "},
		{"", []string{"ops", "x", "--in", "soon"}, `--in: "soon" is not a duration`},
		{"", []string{"ops", "x", "--every", "1s"}, "--every: "},
		{"", []string{"ops", "x", "--in", "20m", "--tz", "Nowhere/Town"}, "--tz: "},
		{"", []string{"ops", "x", "--in", "20m", "--missed", "never"}, "within 30m"},
		{"", []string{"ops", "x", "--in", "20m", "--missed", "never"}, "--missed: "},
		{"", []string{"ops", " ", "--in", "20m"}, "TEXT: "},
		{"a\x00b", []string{"ops", "-", "--in", "20m"}, "TEXT: "},
		{"", []string{" ops", "x", "--in", "20m"}, "CHANNEL: "},
	} {
		told := schedule(m, exitcode.Usage, c.in, append([]string{"add"}, c.args...)...).Prints("").Tells(c.want).Err.String()
		for _, word := range []string{"Send ", `"text"`, `"every"`, "member"} {
			if strings.Contains(told, word) {
				t.Errorf("%q: %q is a word of the API: %s", c.args, word, told)
			}
		}
	}
}

// TestScheduleIsPausedAndRun: a schedule is paused, resumed and run by hand, by the end of its id, and
// its zone is that of BARECLAW_TZ, which wins over TZ.
func TestScheduleIsPausedAndRun(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "TZ=UTC", "BARECLAW_TZ=Asia/Tokyo")
	g := m.Start()
	id := schedule(m, exitcode.OK, "", "add", "ops", "echo tea", "--cron", "0 9 * * *", "--json").Document().Str("id")
	schedule(m, exitcode.OK, "").Shows(" 09:00 (in ", "Times are those of Asia/Tokyo")
	end := id[4:]
	schedule(m, exitcode.OK, "", "pause", end).Shows("Paused schedule " + id)
	schedule(m, exitcode.OK, "", "show", id).Shows(id + " (paused)")
	schedule(m, exitcode.OK, "").Shows("paused")
	schedule(m, exitcode.OK, "", "run", end).Shows("Sent as message ", "bareclaw trace ")
	sent := schedule(m, exitcode.OK, "", "show", end, "--json").Document().Array("occurrences")
	if len(sent) != 1 || sent[0].JSON["by_hand"] != true || !strings.Contains(g.Outcome(sent[0].Str("message_id")).Str("text"), "tea") {
		t.Errorf("it was run: %v", sent)
	}
	schedule(m, exitcode.OK, "", "resume", end).Shows("(Asia/Tokyo)", "next ")
	once := schedule(m, exitcode.OK, "", "add", "ops", "echo once", "--at", "2031-01-31 12:00", "--json").Document()
	if got := once.JSON["next"].([]any)[0]; got != "2031-01-31T03:00:00.000000Z" {
		t.Errorf("noon in Tokyo is %v", got)
	}
	schedule(m, exitcode.OK, "", "run", once.Str("id")).Shows("Sent")
	schedule(m, exitcode.OK, "", "show", once.Str("id")).Shows("(active)", "Fri 31 Jan 2031 12:00", "sent by hand")
	schedule(m, exitcode.Usage, "", "run", "heartbeat").Tells("bareclaw heartbeat run")
	schedule(m, exitcode.Failed, "", "pause", "nonsense").Tells("`bareclaw schedule list`")
	schedule(m, exitcode.Usage, "", "add").Tells("which channel, which text, and when?")
}
