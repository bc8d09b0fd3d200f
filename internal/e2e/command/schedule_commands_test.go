package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
)

// runSchedule runs `bareclaw schedule` beside the daemon, with what it reads on standard
// input, and returns what it prints and its exit status.
func runSchedule(m *harness.Machine, in string, args ...string) (stdout, stderr string, status int) {
	m.T.Helper()
	self := harness.Bareclaw(m.T)
	cmd := exec.Command(self, append([]string{"schedule"}, args...)...)
	var out, diagnostics bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = m.Env, m.Path("work"), strings.NewReader(in), &out, &diagnostics
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		m.T.Fatal(err)
	}
	return out.String(), diagnostics.String(), cmd.ProcessState.ExitCode()
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
		{"", []string{"add", "ops", "echo hello", "--cron", "0 9 * * 1-5"}, []string{"on ops: cron 0 9 * * 1-5\n", "next ", " 09:00 (in ", "then "}},
		{"echo from\nthere\n", []string{"add", "ops", "-", "--in", "20m", "--missed", "skip"}, []string{"(in 20 min)\n"}},
		{"", []string{"add", "ops", "echo tea", "--every", "2h", "--tz", "Asia/Tokyo", "--budget", "0.5"}, []string{"every 2h (Asia/Tokyo)", "(in 2 h)"}},
		{"", []string{"add", "ops", "echo noon", "--at", "2031-01-31 12:00"}, []string{"at 2031-01-31T12:00:00+01:00", "Fri 31 Jan 2031 12:00"}},
		{"", []string{"add", "ops", "echo checked", "--every", "1d", "--precheck", "test -e x"}, []string{"every 24h"}},
	} {
		out, diagnostics, status := runSchedule(m, c.in, c.args...)
		for _, want := range c.want {
			if status != harness.ExitOK || diagnostics != "" || !strings.Contains(out, want) {
				t.Errorf("%q: status %d, %q\n%s\nwant %q", c.args, status, diagnostics, out, want)
			}
		}
	}
	out, _, _ := runSchedule(m, "", "list", "--json")
	var list struct {
		Schedules []struct{ ID, Text, When string }
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Schedules) != 5 || list.Schedules[1].Text != "echo from\nthere" {
		t.Fatalf("%v: %s", err, out)
	}
	out, _, _ = runSchedule(m, "") // the same as list
	if strings.Count(out, "\n") != 6 || !strings.Contains(out, "echo from there") {
		t.Errorf("the list is\n%s", out)
	}
	id := g.Schedule("ops", "echo \u202e\u009b31mnow", harness.Due(time.Second), "precheck", "exit 4")
	g.Occurred(id)
	out, _, _ = runSchedule(m, "", "show", id)
	for _, want := range []string{id + " (done)", "precheck  exit 4", "skipped: The precheck ended with status 4", "\uFFFD\uFFFD31mnow"} {
		if !strings.Contains(out, want) {
			t.Errorf("shown is\n%s\nwant %q", out, want)
		}
	}
	out, _, _ = runSchedule(m, "", "show", "--json", id)
	var shown struct {
		Text        string
		Occurrences []struct{ Status int }
	}
	if err := json.Unmarshal([]byte(out), &shown); err != nil || len(shown.Occurrences) != 1 || shown.Occurrences[0].Status != 4 || shown.Text != "echo \u202e\u009b31mnow" {
		t.Errorf("%v: %s", err, out)
	}
	if strings.ContainsAny(out, "\u202e\u009b") {
		t.Errorf("characters that command a terminal are in %q", out)
	}
	for _, s := range list.Schedules {
		if out, _, status := runSchedule(m, "", "remove", s.ID); status != harness.ExitOK || out != "Removed schedule "+s.ID+".\n" {
			t.Errorf("status %d: %s", status, out)
		}
	}
	if out, _, _ := runSchedule(m, "", "remove", id, "--json"); out != `{"status":"removed","id":"`+id+`"}`+"\n" {
		t.Errorf("removed: %q", out)
	}
	if out, _, _ := runSchedule(m, "", "list"); !strings.Contains(out, "There are no schedules") {
		t.Errorf("the list is %s", out)
	}
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"remove", id}, 1, "There is no schedule with this id"},
		{[]string{"add", "ops", "x", "--cron", "0 9 * *"}, 1, "4 fields"},
		{[]string{"add", "ops", "x", "--in", "20m", "--missed", "never"}, 1, "within 30m"},
		{[]string{"add", "ops", "x", "--in", "20m", "--every", "2h"}, 2, "--in"},
		{[]string{"add", "ops", "x"}, 2, "--cron"},
	} {
		if _, diagnostics, status := runSchedule(m, "", c.args...); status != c.status || !strings.Contains(diagnostics, c.want) {
			t.Errorf("%q: status %d, %s", c.args, status, diagnostics)
		}
	}
	g.Signal(syscall.SIGTERM)
	if _, diagnostics, status := runSchedule(m, "", "list"); status != 3 || !strings.Contains(diagnostics, "cannot be reached") {
		t.Errorf("without a gateway: status %d, %s", status, diagnostics)
	}
}

// TestStatusShowsSchedules: what the real gateway says of schedules is on the screen, the
// next ones first, and those that are over are not.
func TestStatusShowsSchedules(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "TZ=Europe/Berlin")
	g := m.Start()
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
	t.Parallel()
	m := harness.NewMachine(t, "TZ=Europe/Berlin")
	g := m.Start()
	add := []string{"add", "ops", "echo tea", "--at", "2031-01-31 12:00", "--tz", "Asia/Tokyo"}
	out, _, _ := runSchedule(m, "", add...)
	list, _, _ := runSchedule(m, "", "list")
	id := g.Must("GET", "/schedules", nil, 200).Array("schedules")[0].Str("id")
	show, _, _ := runSchedule(m, "", "show", id)
	for name, said := range map[string]string{"add": out, "list": list, "show": show} {
		if !strings.Contains(said, "Fri 31 Jan 2031 12:00") || !strings.Contains(said, "(Asia/Tokyo)") {
			t.Errorf("%s says\n%s", name, said)
		}
	}
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
		{"", []string{"ops", "x", "--cron", "0 9 * *"}, `--cron: "0 9 * *" is no cron expression`},
		{"", []string{"ops", "x", "--cron", "@every 2h"}, "--every"},
		{"", []string{"ops", "x", "--cron", "TZ=UTC 9 * * *"}, "--tz"},
		{"", []string{"ops", "x", "--at", "tomorrow"}, `--at: "tomorrow" is no time`},
		{"", []string{"ops", "x", "--at", "2001-01-01 10:00"}, "--at: "},
		{"", []string{"ops", "x", "--in", "soon"}, `--in: "soon" is no duration`},
		{"", []string{"ops", "x", "--every", "1s"}, "--every: "},
		{"", []string{"ops", "x", "--in", "20m", "--tz", "Nowhere/Town"}, "--tz: "},
		{"", []string{"ops", "x", "--in", "20m", "--missed", "never"}, "--missed: "},
		{"", []string{"ops", " ", "--in", "20m"}, "TEXT: "},
		{"a\x00b", []string{"ops", "-", "--in", "20m"}, "TEXT: "},
		{"", []string{" ops", "x", "--in", "20m"}, "CHANNEL: "},
	} {
		out, diagnostics, status := runSchedule(m, c.in, append([]string{"add"}, c.args...)...)
		if status != harness.ExitFailure || out != "" || !strings.Contains(diagnostics, c.want) {
			t.Errorf("%q: status %d, %s%s\nwant %q", c.args, status, out, diagnostics, c.want)
		}
		for _, word := range []string{"Send ", `"text"`, `"every"`, "member"} {
			if strings.Contains(diagnostics, word) {
				t.Errorf("%q: %q is a word of the API: %s", c.args, word, diagnostics)
			}
		}
	}
}
