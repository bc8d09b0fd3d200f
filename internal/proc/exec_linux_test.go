package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"bareclaw/internal/testkit/check"
)

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
