package sqlite_test

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"bareclaw/core"
	"bareclaw/core/ledger/ledgertest"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/internal/testkit/check"
)

// childEnv makes the test binary write to the ledger at that path until it is
// killed or has done its rounds.
const childEnv = "LEDGER_CHILD"

// endlessEnv makes it write until it is killed.
const endlessEnv = "LEDGER_CHILD_ENDLESS"

const (
	childRounds  = 40
	childWriters = 4
)

// child takes messages through their lives and reports each change on standard
// output when it is told that it is durable.
func child(path string) int {
	l, err := sqlite.Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var wg sync.WaitGroup
	for w := range childWriters {
		wg.Go(func() {
			for round := 0; round < childRounds || os.Getenv(endlessEnv) != ""; round++ {
				m := ledgertest.Message(fmt.Sprint("channel ", w))
				turn := ledgertest.TurnOf(m)
				if report(l, ledgertest.Accepted(m, turn), core.Running, m.ID) {
					outcome := ledgertest.Answered(m, turn)
					outcome.Lazy = w%2 == 0 // so that some arrivals wait to be posted
					report(l, outcome, core.Answered, m.ID)
				}
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// report writes a change and says on standard output what came of it.
func report(l *sqlite.Ledger, c core.Change, state core.State, id core.MessageID) bool {
	err := ledgertest.Write(l, c)
	what := string(state)
	switch {
	case errors.Is(err, core.ErrStorageFull):
		what = "full"
	case errors.Is(err, core.ErrStorage):
		what = "storage"
	case err != nil:
		what = err.Error()
	}
	if err != nil {
		what = "not-" + string(state) + ":" + what
	}
	fmt.Fprintln(os.Stdout, what, id) // one write, so that no report is half a line
	return err == nil
}

// survivors opens what a child left and checks that it holds what was reported.
func survivors(t *testing.T, path string, reported []string) {
	t.Helper()
	l := openAt(t, path)
	for _, line := range reported {
		state, id, ok := strings.Cut(line, " ")
		if !ok {
			t.Fatalf("the child said %q", line)
		}
		m, err := l.Message(t.Context(), core.MessageID(id))
		if strings.HasPrefix(state, "not-running:") {
			if !errors.Is(err, core.ErrNotFound) {
				t.Errorf("%s was reported, but the message is there (%v)", line, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s was reported: %v", line, err)
			continue
		}
		if core.State(state) == core.Answered && (m.State != core.Answered || m.Reply.Text == "") {
			t.Errorf("%s was reported, but it is %s", line, m.State)
		}
		turn, err := l.Turn(t.Context(), m.Turn)
		if err != nil || (m.State == core.Answered) != (turn.Result != nil) {
			t.Errorf("%s: message and turn disagree: %s, %+v, %v", line, m.State, turn.Result, err)
		}
	}
	b, err := l.Balance(t.Context())
	if err != nil || !b.Even() {
		t.Errorf("balance = %+v, %v", b, err)
	}
	if spent, err := l.Spent(t.Context(), core.Day(ledgertest.Day)); err != nil || spent != 0.25*float64(b.Answered) {
		t.Errorf("%v was spent (%v) on %d answers", spent, err, b.Answered)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestKillNine kills the writing process at random moments, again and again on the same
// file: some times, and many in the long run.
func TestKillNine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	kills, reports := 3, 60
	if os.Getenv("BARECLAW_TEST_SOAK") != "" {
		kills, reports = 40, 250
	}
	for range kills {
		cmd := childCommand(t, path)
		cmd.Env = append(cmd.Env, endlessEnv+"=1")
		out, err := cmd.StdoutPipe()
		check.OK(t, err)
		check.OK(t, cmd.Start())
		var reported []string
		last := rand.IntN(reports)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if reported = append(reported, lines.Text()); len(reported) == last+1 {
				if err := cmd.Process.Kill(); err != nil { // what it had reported meanwhile is read all the same
					t.Error(err)
				}
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child ended by itself before it was killed")
		}
		survivors(t, path, reported)
		if t.Failed() {
			return
		}
	}
}

func childCommand(t *testing.T, path string, before ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	check.OK(t, err)
	args := append(slices.Clone(before), self)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

// TestKilledInSystemCall kills the writing process at the N-th system call that
// touches the disk, for growing N, before the call is made.
func TestKilledInSystemCall(t *testing.T) {
	t.Parallel()
	strace := lookStrace(t)
	for _, call := range []string{"pwrite64", "fsync", "fdatasync", "ftruncate"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			for n := 1; n < 40; n += 1 + n/3 {
				path := filepath.Join(t.TempDir(), "ledger.db")
				cmd := childCommand(t, path, strace, "-f", "-qqq", "-o", os.DevNull, "-e", "trace="+call,
					"-e", "inject="+call+":signal=SIGKILL:when="+strconv.Itoa(n))
				out, err := cmd.Output()
				survivors(t, path, reports(out))
				if err == nil {
					return // there were fewer calls than n
				}
			}
		})
	}
}

func reports(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// lookStrace finds strace and skips the test, saying so, where it is missing or
// not allowed to trace.
func lookStrace(t *testing.T) string {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err == nil {
		err = exec.CommandContext(t.Context(), strace, "-f", "-qqq", "-o", os.DevNull, "true").Run()
	}
	if err != nil {
		t.Skipf("NOT TESTED: faults in system calls: strace is needed: %v", err)
	}
	return strace
}
