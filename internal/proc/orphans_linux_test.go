package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/roottest"
)

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
