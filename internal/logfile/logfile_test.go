package logfile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bareclaw/internal/testkit/check"
)

// whole returns all lines of a log, the oldest first.
func whole(t *testing.T, path string) []string {
	t.Helper()
	var lines []string
	for n := Kept; n >= 0; n-- {
		b, err := os.ReadFile(Path(path, n))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")...)
	}
	return slices.DeleteFunc(lines, func(s string) bool { return s == "" })
}

func TestALogIsKeptWithinBounds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "claw.log")
	l, err := Open(path, 100)
	check.OK(t, err)
	t.Cleanup(func() { _ = l.Close() })
	for n := range 100 {
		_, _ = fmt.Fprintf(l, "line %04d\n", n) // 10 bytes
	}
	lines := whole(t, path)
	if first, last := lines[0], lines[len(lines)-1]; len(lines) != 40 || first != "line 0060" || last != "line 0099" {
		t.Errorf("%d lines from %q to %q are left, want the newest 40", len(lines), first, last)
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil || len(files) != Kept+1 {
		t.Errorf("files are %v, %v", files, err)
	}
	for _, f := range files {
		st, err := os.Stat(f)
		if err != nil || st.Mode().Perm() != 0o600 || st.Size() > 100 {
			t.Errorf("%s: %v, %v", f, st, err)
		}
	}
}

// TestTwoWritersLoseNothing has two processes' worth of writers rotate the same log:
// nothing is overwritten, and no line is torn.
func TestTwoWritersLoseNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "claw.log")
	const each = 100
	var writers sync.WaitGroup
	for w := range 2 {
		l, err := Open(path, 700) // 2,000 bytes come, which is less than is kept
		check.OK(t, err)
		writers.Go(func() {
			for n := range each {
				_, _ = fmt.Fprintf(l, "%d: %05d\n", w, n)
			}
			_ = l.Close()
		})
	}
	writers.Wait()
	seen := map[string]bool{}
	for _, line := range whole(t, path) {
		var w, n int
		if _, err := fmt.Sscanf(line, "%d: %05d", &w, &n); err != nil || seen[line] {
			t.Errorf("line %q is torn or there twice", line)
		}
		seen[line] = true
	}
	if len(seen) != 2*each {
		t.Errorf("%d lines, want %d", len(seen), 2*each)
	}
}

// TestALogThatCannotBeWritten stops nobody.
func TestALogThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	l, err := Open(filepath.Join(t.TempDir(), "claw.log"), 100)
	check.OK(t, err)
	check.OK(t, l.Close())
	if n, err := l.Write([]byte("lost\n")); n != 5 || err != nil {
		t.Errorf("Write() = %d, %v", n, err)
	}
	file := filepath.Join(t.TempDir(), "file")
	check.OK(t, os.WriteFile(file, nil, 0o600))
	if _, err := Open(filepath.Join(file, "claw.log"), MaxBytes); err == nil {
		t.Error("a log below a file was opened")
	}
}

// TestWhatIsPrintedGoesWhereTheLogDoes has a process print to the log as it did before,
// as a panic would, while the log is rotated, and twice more than is kept.
func TestWhatIsPrintedGoesWhereTheLogDoes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "claw.log")
	printed, err := OpenAppend(path)
	check.OK(t, err)
	t.Cleanup(func() { _ = printed.Close() })
	rotated, err := Open(path, 10)
	check.OK(t, err)
	_, _ = printed.WriteString("0123456789")
	_, _ = rotated.Write([]byte("0123456789")) // of another process, before this one has its log
	_ = rotated.Close()

	l, err := Open(path, 100)
	check.OK(t, err)
	t.Cleanup(func() { _ = l.Close() })
	if !l.Adopt(printed) {
		t.Fatal("the log is not known again after it was rotated")
	}
	for n := range 80 {
		_, _ = fmt.Fprintf(l, "line %04d\n", n) // 10 bytes
		if _, err := printed.WriteString("p\n"); err != nil {
			t.Fatal(err)
		}
		now, err := os.ReadFile(path)
		if want := fmt.Sprintf("line %04d\np\n", n); err != nil || !strings.HasSuffix(string(now), want) {
			t.Fatalf("the log ends with %q, %v; want %q", now, err, want)
		}
	}
}
