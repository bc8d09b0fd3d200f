package doctor

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core/config"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/heartbeat"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/term"
	"bareclaw/sessionhost/claude"
)

// codes are what findings are called.
func codes(found []Finding) []string {
	var list []string
	for _, f := range found {
		list = append(list, f.Code)
	}
	return list
}

// tells fails unless what was found is that, each with a reason.
func tells(t *testing.T, found []Finding, want ...string) {
	t.Helper()
	if got := codes(found); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	for _, f := range found {
		if f.Level != OK && f.Why == "" {
			t.Errorf("%s: no reason", f.Code)
		}
	}
}

// of returns the findings of a check.
func of(t *testing.T, check func(context.Context, *report), l *look) []Finding {
	r := &report{look: l}
	check(t.Context(), r)
	return r.found
}

func TestACheckThatHangsIsAFinding(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := check{name: "slow", bound: time.Second, run: func(context.Context, *report) { <-release }}
		began := time.Now()
		found := c.carryOut(t.Context(), newLook(Options{}))
		if took := time.Since(began); took != time.Second+grace {
			t.Errorf("it took %v", took)
		}
		tells(t, found, "check_hangs")
		if found[0].Check != "slow" || found[0].Level != Problem {
			t.Errorf("finding %+v", found[0])
		}
		close(release)
	})
}

func TestWhatATurnWithoutAnAnswerMeans(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancelCause(t.Context())
	cancel(context.DeadlineExceeded)
	ended := errors.New("signal: killed")
	var r report
	(&turn{report: &r}).unanswered(over, ended)
	tried := &turn{report: &r, retry: claude.APIRetry{Attempt: 4, Reason: "unknown"}}
	tried.unanswered(over, ended)
	tried.unanswered(t.Context(), ended)
	tells(t, r.found, "turn_hangs", "api_unreachable", "claude_fails")
	if what := r.found[1].What; !strings.Contains(what, "4 times (unknown)") {
		t.Errorf("finding %q", what)
	}
}

func TestRoomOnTheDisk(t *testing.T) {
	t.Parallel()
	rows := []struct {
		free, inodes, freeInodes uint64
		want                     []string
	}{
		{10 << 30, 1e6, 1e6, []string{""}},
		{10 << 30, 0, 0, []string{""}}, // as btrfs says
		{500 << 20, 1e6, 1e6, []string{"disk_low"}},
		{5 << 20, 1e6, 1e6, []string{"disk_full"}},
		{10 << 30, 1e6, 5000, []string{"", "inodes_low"}},
		{0, 1e6, 3, []string{"disk_full", "inodes_gone"}},
	}
	for _, row := range rows {
		var r report
		judgeRoom(&r, "/state", row.free, row.inodes, row.freeInodes)
		tells(t, r.found, row.want...)
	}
	var r report
	judgeSync(&r, 300*time.Microsecond)
	judgeSync(&r, 20*time.Millisecond)
	tells(t, r.found, "", "disk_slow")
}

func TestLandlock(t *testing.T) {
	t.Parallel()
	var r report
	judgeLandlock(&r, 0, errors.New("function not implemented"))
	judgeLandlock(&r, 1, nil)
	tells(t, r.found, "landlock_missing", "")
}

func TestALedgerThatIsTooLargeToBeSearched(t *testing.T) {
	t.Parallel()
	var r report
	judgeLedger(&r, "/state/ledger.db", sqlite.Examination{Size: 1 << 40, Mode: 0o600})
	tells(t, r.found, "ledger_unchecked")
}

// A fakeManager is a service manager with one answer.
type fakeManager struct {
	service.Manager
	absent    error
	status    service.Status
	err       error
	installed []service.Job
}

func (*fakeManager) System() service.System            { return service.Systemd }
func (m *fakeManager) Available(context.Context) error { return m.absent }
func (m *fakeManager) Status(context.Context, service.Job, service.Spec) (service.Status, error) {
	return m.status, m.err
}
func (m *fakeManager) Install(_ context.Context, job service.Job, _ service.Spec) ([]string, error) {
	m.installed = append(m.installed, job)
	return nil, nil
}

func TestServices(t *testing.T) {
	t.Parallel()
	fine := service.Status{System: service.Launchd, Installed: true, Current: true, Active: true}
	with := func(change func(*service.Status)) service.Status {
		s := fine
		change(&s)
		return s
	}
	rows := []struct {
		name string
		m    *fakeManager
		want string
	}{
		{"fine", &fakeManager{status: fine}, ""},
		{"none", nil, "service_unknown"},
		{"away", &fakeManager{absent: errors.New("no bus")}, "service_unavailable"},
		{"unreadable", &fakeManager{err: errors.New("no")}, "service_status"},
		{"missing", &fakeManager{}, "service_missing"},
		{"outdated", &fakeManager{status: with(func(s *service.Status) { s.Current = false })}, "service_outdated"},
		{"unwell", &fakeManager{status: with(func(s *service.Status) { s.Problem = "It failed."; s.Active = false })}, "service_unwell"},
		{"inactive", &fakeManager{status: with(func(s *service.Status) { s.Active = false })}, "service_inactive"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			o := Options{Report: config.Report{Config: config.Config{Heartbeat: config.Heartbeat{Mode: config.HeartbeatOff}}}}
			if row.m != nil {
				o.Services = row.m
			}
			tells(t, of(t, checkService, newLook(o)), row.want)
		})
	}
}

func TestServicesOfSystemdWithoutLingering(t *testing.T) {
	t.Parallel()
	var r report
	if checkLingering(&r); len(r.found) == 0 {
		t.Skip("NOT TESTED: this user lingers, or has no name")
	}
	m := &fakeManager{status: service.Status{System: service.Systemd, Installed: true, Current: true, Active: true}}
	tells(t, of(t, checkService, newLook(Options{Services: m})), "not_lingering", "")
}

func TestAnOutdatedServiceIsInstalledAnew(t *testing.T) {
	t.Parallel()
	m := &fakeManager{status: service.Status{Installed: true, Active: true}}
	found := of(t, checkService, newLook(Options{Services: m}))
	tells(t, found, "service_outdated", "service_outdated")
	fixAll(t.Context(), found)
	if !found[0].Fixed || !found[1].Fixed || !slices.Equal(m.installed, []service.Job{service.Gateway, service.Heartbeat}) {
		t.Errorf("installed %v, findings %+v", m.installed, found)
	}
	found = of(t, checkService, newLook(Options{Services: m, Unfit: errors.New("not here")}))
	tells(t, found, "service_outdated", "service_outdated")
	if found[0].Fixable || found[1].Fixable {
		t.Error("it would be installed from a directory that is not the gateway's")
	}
}

// TestHeartbeatThatIsNotInstalled: it is advised with what it does and costs, unless the
// user has said no.
func TestHeartbeatThatIsNotInstalled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setting config.HeartbeatMode
		consent heartbeat.Consent
		want    string // in the advice; empty: none
	}{
		"nobody asked":     {config.HeartbeatAuto, heartbeat.ConsentNone, "Claude asked every 1h"},
		"declined":         {config.HeartbeatAuto, heartbeat.ConsentNo, ""},
		"declined, on":     {config.HeartbeatOn, heartbeat.ConsentNo, "Claude asked every 1h"},
		"off":              {config.HeartbeatOff, heartbeat.ConsentAsk, ""},
		"revive":           {config.HeartbeatRevive, heartbeat.ConsentNone, "bareclaw heartbeat install"},
		"agreed to revive": {config.HeartbeatAuto, heartbeat.ConsentRevive, "bareclaw heartbeat install"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := heartbeat.SaveConsent(dir, c.consent); err != nil {
				t.Fatal(err)
			}
			cfg := config.Config{
				Files:     config.Files{StateDir: config.Path(dir)},
				Heartbeat: config.Heartbeat{Mode: c.setting, Interval: config.Interval(time.Hour)},
			}
			found := of(t, checkService, newLook(Options{Services: &fakeManager{}, Report: config.Report{Config: cfg}}))
			if c.want == "" {
				tells(t, found, "service_missing") // that of the gateway
				return
			}
			tells(t, found, "service_missing", "service_missing")
			if advice := found[1].Command; !strings.Contains(advice, c.want) || strings.Contains(advice, "asked") != strings.Contains(c.want, "asked") {
				t.Errorf("it advises %q", advice)
			}
		})
	}
}

// TestPeersThatTheSystemDoesNotTell has the system answer as macOS does, which has no way
// to ask for the other end of a TCP connection.
func TestPeersThatTheSystemDoesNotTell(t *testing.T) {
	t.Parallel()
	var o Options
	o.Report.Config.HTTP.Host = "127.0.0.1"
	l := newLook(o)
	l.tellsPeers = false
	tells(t, of(t, checkExposure, l), "peer_unknown")
	l.cfg.HTTP.Token = config.HTTPToken{Secret: config.NewSecret("0123456789abcdef")}
	tells(t, of(t, checkExposure, l), "")
	if runtime.GOOS == "linux" {
		tells(t, of(t, checkExposure, newLook(o)), "")
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	found := []Finding{
		{Check: "disk", Level: OK, What: "There is room."},
		{Check: "gateway", Level: Problem, Code: "a", What: "It is not well, and it takes many words to say so, more than fit.", Why: "Nothing works.", Command: "bareclaw do something that is longer than the line is which is whole --all"},
		{Check: "gateway", Level: Problem, Code: "b", What: "It was open.", Why: "Thieves.", Fixable: true, Fixed: true, Command: "chmod"},
		{Check: "ledger", Level: Warning, Code: "c", What: "It was open.", Fixable: true, Failed: "not permitted", Command: "chmod"},
		{Check: "ledger", Level: Note, Code: "d", What: "It is old.", Fixable: true, Command: "wait, or look into it with `bareclaw ledger --show --all --of it` at once"},
	}
	const beside = `disk           ok       There is room.
gateway        problem  It is not well, and it takes many words to say so,
                        more than fit.
                        Nothing works.
                        → bareclaw do something that is longer than the line is which is whole --all
               mended   It was open.
                        Thieves.
ledger         warning  It was open.
                        It could not be mended: not permitted
                        → chmod
               note     It is old.
                        → wait, or look into it with
                          ` + "`bareclaw ledger --show --all --of it`" + ` at once

1 problem, 1 warning, 1 note. 1 mended. ` + "`bareclaw doctor --fix` mends 1.\n"
	const below = `disk           ok
    There is room.
gateway        problem
    It is not well, and it takes many words to say
    so, more than fit.
    Nothing works.
    → bareclaw do something that is longer than the line is which is whole --all
gateway        mended
    It was open.
    Thieves.
ledger         warning
    It was open.
    It could not be mended: not permitted
    → chmod
ledger         note
    It is old.
    → wait, or look into it with
      ` + "`bareclaw ledger --show --all --of it`" + ` at
      once

1 problem, 1 warning, 1 note. 1 mended.
` + "`bareclaw doctor --fix` mends 1.\n"
	var out bytes.Buffer
	for width, want := range map[int]string{74: beside, 50: below} {
		if got := page(found, term.Palette{}, width); got != want {
			t.Errorf("%d columns: printed\n%s\nwant\n%s", width, got, want)
		}
	}
	if err := Print(&out, found[:1], true); err != nil || out.String() != "Nothing is wrong.\n" {
		t.Errorf("%v, printed %q", err, out.String())
	}
	if got := page(found[1:2], term.Palette{On: true}, maxWidth); !strings.Contains(got, "\x1b[31mproblem\x1b[0m  It is") {
		t.Errorf("printed %q", got)
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"/a/b-c.d": "/a/b-c.d", "/a b": "'/a b'", "/it's": `'/it'\''s'`, "": "''", "$(x)": "'$(x)'"} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
}
