package command

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/testkit/check"
)

// TestRestoreIsKilled kills a restore at each change of a name: what is there then is the
// old state or the new one, or a start says that it is neither, as at the first change. Restoring
// once more works.
func TestRestoreIsKilled(t *testing.T) {
	t.Parallel()
	harness.NeedStrace(t)
	m := harness.NewMachine(t)
	m.Env = append(m.Env, "TMPDIR="+m.Path("home")) // where what was killed leaves something
	g := m.Start()
	g.Say("http", "echo one")
	g.Signal(syscall.SIGINT)
	file := m.Path("backup.tar.gz")
	does(m, harness.ExitOK, "Saved", "backup", file)
	addThree(m.Start())
	refused := 0
	for n := 1; ; n++ {
		if n == 30 {
			t.Fatal("it is never through")
		}
		cmd := exec.Command("strace", "-f", "-o", "/dev/null", "-e", "trace=renameat,renameat2,rename",
			"-e", fmt.Sprintf("inject=renameat,renameat2,rename:signal=KILL:when=%d", n), m.Executable(), "restore", "--force", file)
		cmd.Env, cmd.Dir = append(slices.Clone(m.Env), "GOMAXPROCS=1"), m.Path("work")
		out, err := cmd.CombinedOutput()
		if err == nil {
			if n == 1 {
				t.Errorf("it is through without a rename:\n%s", out)
			}
			break // strace counts for each thread: with several this may come early
		}
		before := len(m.Log.String())
		g := m.Launch()
		if g.Base == "" {
			refused++
			if said := m.Log.String()[before:]; !strings.Contains(said, "run `bareclaw restore --force FILE` again") {
				t.Errorf("killed at change %d, the gateway does not start, and says\n%s", n, said)
			}
		} else {
			if accepted := g.Balanced(); accepted != 1 && accepted != 4 {
				t.Errorf("killed at change %d there are %d messages", n, accepted)
			}
			g.Kill()
		}
		m.EndHosts()
		does(m, harness.ExitOK, "Restored", "restore", "--force", file)
		g = m.Start()
		if accepted := g.Balanced(); accepted != 1 {
			t.Errorf("restored after a death at change %d there are %d messages", n, accepted)
		}
		addThree(g)
	}
	if refused == 0 {
		t.Error("no start says that a restore was cut short")
	}
}

// addThree sends three messages and ends gateway and sessions. The first message is in the file of
// the ledger then, and the others in its log: without the log the ledger has one more, not three.
func addThree(g *harness.Gateway) {
	g.T.Helper()
	g.Say("http", "echo more")
	g.Signal(syscall.SIGTERM)
	g = g.Start()
	g.Say("http", "echo more")
	g.Say("http", "echo more")
	g.Kill()
	g.EndHosts()
}

// TestBackupWithoutLinks writes one where the file system has no hard links.
func TestBackupWithoutLinks(t *testing.T) {
	t.Parallel()
	harness.NeedStrace(t)
	m := harness.NewMachine(t)
	m.Start().Say("http", "echo one")
	for _, c := range []struct {
		status int
		says   string
	}{{0, "Saved"}, {1, "is there already"}} {
		cmd := exec.Command("strace", "-f", "-o", "/dev/null", "-e", "trace=linkat,link", "-e", "inject=linkat,link:error=EPERM",
			m.Executable(), "backup", m.Path("backup.tar.gz"))
		cmd.Env, cmd.Dir = m.Env, m.Path("work")
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != c.status || !strings.Contains(string(out), c.says) {
			t.Errorf("%s\n%s", cmd.ProcessState, out)
		}
	}
}

// TestRestoreIsInterrupted ends one by Ctrl-C while it unpacks what is larger than anybody
// would wait for, and leaves nothing of it.
func TestRestoreIsInterrupted(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Env = append(m.Env, "TMPDIR="+m.Path("home"))
	file := m.Path("backup.tar.gz")
	check.OK(t, syscall.Mkfifo(file, 0o600))
	cmd := exec.Command(m.Executable(), "restore", file)
	cmd.Env, cmd.Dir = m.Env, m.Path("work")
	check.OK(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	out, err := os.OpenFile(file, os.O_WRONLY, 0) // waits for the reader
	check.OK(t, err)
	defer func() { _ = out.Close() }()
	zip, _ := gzip.NewWriterLevel(out, gzip.BestSpeed)
	w := tar.NewWriter(zip)
	about := `{"format":1,"version":"v1","schema":6,"made_at":"2030-01-31T09:00:00Z"}`
	for _, h := range []tar.Header{{Name: "about.json", Size: int64(len(about))}, {Name: "media/large", Size: 1 << 30}} {
		h.Typeflag, h.Mode = tar.TypeReg, 0o600
		check.OK(t, w.WriteHeader(&h))
		if h.Name == "about.json" {
			_, _ = io.WriteString(w, about)
		}
	}
	zeros := make([]byte, 1<<20)
	_, _ = w.Write(zeros)
	_ = zip.Flush()
	m.Eventually("it unpacks", func() bool { return len(m.Glob("home/bareclaw-restore-*/media/large")) == 1 })
	check.OK(t, cmd.Process.Signal(os.Interrupt))
	for range 1<<10 - 1 { // until nobody reads it
		if _, err := w.Write(zeros); err != nil {
			break
		}
	}
	_ = out.Close() // what is left out makes it fail in another way
	_ = cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != exitcode.Interrupted {
		t.Errorf("status %d, want %d", status, exitcode.Interrupted)
	}
	if left := append(m.Glob("home/bareclaw-restore-*"), m.Glob("state/*")...); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
