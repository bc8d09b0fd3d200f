package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"

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
		if got, err := parseStat([]byte(row.stat)); err != nil || got.start != row.want || got.zombie || got.threads != 17 {
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
	if os.Getenv(initVariable) != "" {
		os.Exit(underInit())
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

// initVariable holds a shell's script for a test binary that runs under an init.
const initVariable = "PROCS_TEST_INIT"

func underInit() int {
	run := RunAsInit
	if os.Getpid() != 1 {
		run = func() (int, error) {
			return 0, syscall.Exec("/bin/sh", []string{"sh", "-c", os.Getenv(initVariable)}, os.Environ())
		}
	}
	status, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	return status
}

// TestRunAsInit has an init's only child end in several ways, also while it leaves orphans.
func TestRunAsInit(t *testing.T) {
	t.Parallel()
	wrap := []string{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child"}
	if out, err := exec.Command(wrap[0], append(wrap[1:], "true")...).CombinedOutput(); err != nil {
		roottest.Unavailable(t, "process 1: unshare: %v: %s", err, out)
	}
	self, err := os.Executable()
	check.OK(t, err)
	const orphans = `for i in 1 2 3 4; do (sleep 0.01 &); done; sleep 0.1; while grep -l "^State:.Z" /proc/[0-9]*/status; do sleep 0.01; done; exit 3`
	for script, want := range map[string]int{
		"exit 7":                         7,
		"kill -KILL $$":                  128 + int(syscall.SIGKILL),
		"kill -TERM 1; sleep 600 & wait": 128 + int(syscall.SIGTERM),
		"trap 'exit 5' HUP USR1; kill -USR1 1; sleep 600 & wait": 5,
		orphans: 3,
	} {
		cmd := exec.CommandContext(t.Context(), wrap[0], append(wrap[1:], self)...)
		cmd.Env = append(os.Environ(), initVariable+"="+script)
		out, _ := cmd.CombinedOutput() // the status is compared
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s: status %d, want %d: %s", script, got, want, out)
		}
	}
}
