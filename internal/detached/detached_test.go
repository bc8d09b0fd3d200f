package detached

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/executable"
)

// gateway is a script that is started as a gateway.
func gateway(t *testing.T, script string) Gateway {
	t.Helper()
	dir := t.TempDir()
	self := filepath.Join(dir, "self")
	check.OK(t, executable.Write(self, []byte("#!/bin/sh\n"+script)))
	return Gateway{Self: self, Dir: dir, Environ: []string{"PATH=/usr/bin:/bin", "NOTIFY_SOCKET=/n", "SAY=it"}, Log: filepath.Join(dir, "state/bareclaw.log")}
}

// run starts a gateway and waits for its end.
func run(t *testing.T, g Gateway) (*Process, error) {
	t.Helper()
	p, err := g.Start()
	check.OK(t, err)
	select {
	case err = <-p.Ended:
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	return p, err
}

// TestWhatItPrints is kept at the end of the log, which nobody else reads.
func TestWhatItPrints(t *testing.T) {
	t.Parallel()
	g := gateway(t, `echo "$1 $SAY in $PWD"; echo "failed$NOTIFY_SOCKET" >&2; exit 3`)
	for range 2 {
		p, err := run(t, g)
		if err == nil || p.LastLine() != "failed" {
			t.Errorf("ended with %v, saying %q", err, p.LastLine())
		}
	}
	all, err := os.ReadFile(g.Log)
	if once := "serve it in " + g.Dir + "\nfailed\n"; err != nil || string(all) != once+once {
		t.Errorf("the log is %q, %v", all, err)
	}
	if st, err := os.Stat(g.Log); err != nil || st.Mode() != 0o600 {
		t.Errorf("the log is %v, %v", st.Mode(), err)
	}
}

func TestNothingPrinted(t *testing.T) {
	t.Parallel()
	g := gateway(t, "echo before")
	if p, err := run(t, g); err != nil || p.LastLine() != "before" {
		t.Errorf("ended with %v, saying %q", err, p.LastLine())
	}
	check.OK(t, executable.Write(g.Self, []byte("#!/bin/sh\n")))
	if p, err := run(t, g); err != nil || p.LastLine() != "" {
		t.Errorf("ended with %v, saying %q, which another one did", err, p.LastLine())
	}
}

func TestCannotStart(t *testing.T) {
	t.Parallel()
	g := gateway(t, "")
	g.Self += ".missing"
	if p, err := g.Start(); err == nil {
		t.Errorf("started %+v", p)
	}
}

// TestOwnSession: it is no child of this terminal, whose end would end it.
func TestOwnSession(t *testing.T) {
	t.Parallel()
	p, err := run(t, gateway(t, `test "$(ps -o sid= -p $$ | tr -d ' ')" = $$ && echo own`))
	if err != nil || p.LastLine() != "own" {
		t.Errorf("ended with %v, saying %q", err, p.LastLine())
	}
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	got := environ([]string{"PATH=/bin", "NOTIFY_SOCKET=/n", "WATCHDOG_USEC=1", "LISTEN_FDS=1", "INVOCATION_ID=a", "JOURNAL_STREAM=8:1", "BARECLAW_AGENT=claude"})
	if !slices.Equal(got, []string{"PATH=/bin", "BARECLAW_AGENT=claude"}) {
		t.Errorf("got %q", got)
	}
}

// TestPrepared: the program does not begin before it is prepared.
func TestPrepared(t *testing.T) {
	t.Parallel()
	g := gateway(t, `cat prepared; echo " $$ $1"; cat`)
	prepared := 0
	g.Prepare = func(pid int) {
		prepared = pid
		if err := os.WriteFile(filepath.Join(g.Dir, "prepared"), []byte("prepared"), 0o600); err != nil {
			t.Error(err)
		}
	}
	if p, err := run(t, g); err != nil || p.LastLine() != fmt.Sprintf("prepared %d serve", prepared) {
		t.Errorf("ended with %v, saying %q; it was prepared as %d", err, p.LastLine(), prepared)
	}
}
