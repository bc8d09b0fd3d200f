package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/roottest"
)

const marker = "PROCS_TEST_MARKER"

func TestByEnviron(t *testing.T) {
	t.Parallel()
	// The test's own id makes the value unique among runs at the same time.
	value := strconv.Itoa(os.Getpid())
	first, second := child(t, marker+"="+value), child(t, marker+"="+value)
	child(t, marker+"="+value+"0")
	child(t, "X"+marker+"="+value)
	want := []Process{started(t, first), started(t, second)}
	got, err := ByEnviron(marker, func(v string) bool { return v == value })
	check.OK(t, err)
	byPID := func(a, b Process) int { return a.PID - b.PID }
	slices.SortFunc(got, byPID)
	slices.SortFunc(want, byPID)
	if !slices.Equal(got, want) {
		t.Errorf("ByEnviron = %v, want %v", got, want)
	}
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	const rest = " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"
	rows := []struct {
		stat string
		want uint64
	}{
		{"7 (cat) S" + rest, 4711},
		{"7 (a) Z 1 (b) 0) S" + rest, 4711}, // a name made to look like fields
		{"7 (\n) R" + rest, 4711},
	}
	for _, row := range rows {
		if got, err := parseStat([]byte(row.stat)); err != nil || got.start != row.want || got.parent != 1 || got.zombie || got.threads != 17 {
			t.Errorf("parseStat(%q) = %+v, %v, want %d", row.stat, got, err, row.want)
		}
	}
	for _, state := range []string{"Z", "X"} {
		if s, err := parseStat([]byte("7 (cat) " + state + rest)); s.start != 4711 || !s.zombie || err != nil {
			t.Errorf("state %s: %+v, %v", state, s, err)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	for _, s := range []string{"", ")", "7 (cat) S", "7 (cat) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 -1 20"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, stat []byte) {
		if s, err := parseStat(stat); err != nil && s.start != 0 {
			t.Errorf("parseStat(%q) = %+v with error %v", stat, s, err)
		}
	})
}

// againVariable tells a test binary to execute itself so often.
const againVariable = "PROCS_TEST_AGAIN"

func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv(againVariable)); err == nil {
		executeAgain(n)
	}
	os.Exit(m.Run())
}

// executeAgain replaces the program by itself, from a thread that is not the first one and
// while others run, and waits for the end of its input at the end.
func executeAgain(n int) {
	if n == 0 {
		fmt.Println("done")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	for range 4 {
		go func() {
			for {
				runtime.Gosched()
			}
		}()
	}
	var try func()
	try = func() {
		runtime.LockOSThread()
		if syscall.Gettid() == syscall.Getpid() {
			go try()
			select {} // the first thread stays with this goroutine
		}
		err := os.Setenv(againVariable, strconv.Itoa(n-1))
		if err == nil {
			err = syscall.Exec("/proc/self/exe", os.Args, os.Environ())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go try()
	select {}
}

// TestAliveWhileExecuting looks at a process that executes another program again and
// again: it is alive all the time, although its first thread ends each time.
func TestAliveWhileExecuting(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	check.OK(t, err)
	const times = 20
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", againVariable, times))
	stdin, err := cmd.StdinPipe()
	check.OK(t, err)
	stdout, err := cmd.StdoutPipe()
	check.OK(t, err)
	check.OK(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended
	done := make(chan error, 1)
	go func() { // ends with the process, at the latest
		_, err := bufio.NewReader(stdout).ReadString('\n')
		done <- err
	}()
	start, err := StartTime(cmd.Process.Pid)
	check.OK(t, err)
	for over := false; !over; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("it did not execute itself %d times: %v", times, err)
			}
			over = true
		default:
		}
		if !Alive(cmd.Process.Pid, start) {
			t.Fatal("it is alive, and taken for dead")
		}
	}
	check.OK(t, stdin.Close())
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if Alive(cmd.Process.Pid, start) {
		t.Error("it has ended, and is taken for alive")
	}
}

// orphansVariable makes the test binary process 1 of TestReapOrphans.
const orphansVariable = "PROCS_TEST_ORPHANS"

// TestReapOrphans is process 1 of a PID namespace, where children that it waits for end
// all the time, and leave orphans: it gets the status of each child, and no zombie stays.
func TestReapOrphans(t *testing.T) {
	t.Parallel()
	if os.Getenv(orphansVariable) != "" {
		check.OK(t, beProcessOne())
		return
	}
	wrap := []string{"--pid", "--fork", "--mount-proc", "--kill-child"}
	if out, err := exec.Command("unshare", append(slices.Clone(wrap), "true")...).CombinedOutput(); err != nil {
		roottest.Unavailable(t, "process 1: unshare: %v: %s", err, out)
	}
	self, err := os.Executable()
	check.OK(t, err)
	cmd := exec.CommandContext(t.Context(), "unshare", append(wrap, self, "-test.run", "^TestReapOrphans$", "-test.v")...)
	cmd.Env = append(os.Environ(), orphansVariable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestReapOrphans") {
		t.Errorf("as process 1: %v\n%s", err, out)
	}
}

func beProcessOne() error {
	if os.Getpid() != 1 {
		return fmt.Errorf("this is process %d", os.Getpid())
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	reaped := make(chan error, 1)
	go func() { reaped <- ReapOrphans(ctx) }() // ends with ctx
	const parents, children = 8, 25
	errs := make(chan error, parents)
	var all sync.WaitGroup
	for range parents {
		all.Go(func() {
			for n := range children {
				// The orphan ends after its parent, which ends with a status of its own.
				err := exec.Command("sh", "-c", fmt.Sprintf("(sleep 0.0%d) & exit %d", n%10, n+1)).Run()
				if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != n+1 {
					errs <- fmt.Errorf("a child that exits with %d: %w", n+1, err)
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	if err := <-errs; err != nil {
		return err
	}
	// Whoever has left an orphan is gone; what remains of them is counted until it is gone.
	for deadline := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
		left, err := os.ReadDir("/proc")
		if err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(e os.DirEntry) bool { return e.Name() == "1" || strings.Trim(e.Name(), "0123456789") != "" })
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			stat, _ := os.ReadFile("/proc/" + left[0].Name() + "/stat")
			return fmt.Errorf("%d processes are left, such as %s", len(left), stat)
		}
	}
	stop()
	return <-reaped
}
