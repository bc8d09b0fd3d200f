package toolhost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

// ids returns the ids of the snapshots with a name, the newest first.
func (r *running) ids(name string) []string {
	r.t.Helper()
	return idsOf(r.t, r.files, name)
}

func idsOf(t testing.TB, s *toolFiles, name string) (ids []string) {
	t.Helper()
	all, err := s.list()
	check.OK(t, err)
	for _, sn := range all {
		if sn.Name == name {
			ids = append(ids, sn.ID)
		}
	}
	return ids
}

// tree describes all that is below a directory, with modes and contents.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	check.OK(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		var contents []byte
		switch {
		case info.Mode().IsRegular():
			contents, err = os.ReadFile(path)
		case info.Mode().Type() == fs.ModeSymlink:
			var to string
			to, err = os.Readlink(path)
			contents = []byte(to)
		}
		fmt.Fprintf(&b, "%s %s %q\n", rel, info.Mode(), contents)
		return err
	}))
	return b.String()
}

// fill makes a tools directory with all kinds of files.
func fill(t testing.TB, dir string) {
	t.Helper()
	check.OK(t, os.MkdirAll(filepath.Join(dir, "sub/deep"), 0o700))
	for path, mode := range map[string]os.FileMode{"a.ts": 0o600, "b.ts": 0o644, "sub/run.sh": 0o755, "sub/deep/locked": 0o400, "_deleted": 0o640, ".hidden": 0o666} {
		path = filepath.Join(dir, path)
		check.OK(t, os.WriteFile(path, []byte(path+"\x00\xff"), 0o600))
		check.OK(t, os.Chmod(path, mode))
	}
	check.OK(t, os.Symlink("a.ts", filepath.Join(dir, "link.ts")))
	check.OK(t, os.Symlink("/nowhere", filepath.Join(dir, "dangling.ts")))
	check.OK(t, os.Chmod(filepath.Join(dir, "sub/deep"), 0o500))
	check.OK(t, os.Chmod(filepath.Join(dir, "sub"), 0o750))
	check.OK(t, os.Chmod(dir, 0o750))
	t.Cleanup(func() { check.OK(t, removeTree(filepath.Dir(dir))) }) // not all of it can be removed otherwise
}

// TestRestore: whatever becomes of the tools directory, restoring makes it as it was, byte by byte.
func TestRestore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm   func(dir string) error
		inside bool // the directory itself cannot be replaced
	}{
		"nothing": {func(string) error { return nil }, false},
		"changed": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "a.ts"), []byte("other"), 0o600) }, false},
		"more":    {func(dir string) error { return os.MkdirAll(filepath.Join(dir, "more/and/more"), 0o500) }, false},
		"empty":   {removeTree, false},
		"pipe":    {func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "pipe.ts"), 0o600) }, false},
		"rests":   {func(dir string) error { return os.MkdirAll(filepath.Dir(dir)+"/.tools.next/x", 0o500) }, false},
		"symlink": {moveAway, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newToolFiles(filepath.Join(t.TempDir(), "tools"), 50, slog.New(slog.DiscardHandler))
			fill(t, s.tools)
			if c.inside {
				check.OK(t, c.harm(s.tools))
			}
			before := tree(t, s.tools+"/")
			sn, err := s.create(t.Context(), "mine", 7)
			check.OK(t, err)
			if !c.inside {
				check.OK(t, c.harm(s.tools))
			} else {
				check.OK(t, os.Remove(filepath.Join(s.tools, "a.ts")))
			}
			check.OK(t, s.restore(t.Context(), sn, 8))
			if got := tree(t, s.tools+"/"); got != before {
				t.Errorf("got\n%s\nwant\n%s", got, before)
			}
			if st, err := os.Lstat(s.tools); err != nil || st.IsDir() == c.inside {
				t.Errorf("the directory is %v, %v", st.Mode(), err)
			}
			names := fmt.Sprint(entries(t, filepath.Dir(s.tools)))
			if want := map[bool]string{false: "[.tools.good snapshots tools]", true: "[.tools.good elsewhere snapshots tools]"}[c.inside]; names != want {
				t.Errorf("beside the directory are %s", names)
			}
		})
	}
}

// moveAway makes a directory a symbolic link to where it is now.
func moveAway(dir string) error {
	if err := os.Rename(dir, filepath.Dir(dir)+"/elsewhere"); err != nil {
		return err
	}
	return os.Symlink("elsewhere", dir)
}

// TestRestoreCut: a rollback that is killed between its steps leaves the old tools or the new ones,
// as a whole.
func TestRestoreCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		steps func(s *toolFiles, from string) error
		rolls bool
	}{
		{"while copying", func(s *toolFiles, from string) error { return copyTree(context.Background(), from, s.beside("part")) }, false},
		{"before the directory goes", func(s *toolFiles, from string) error { return copyTree(context.Background(), from, s.beside("next")) }, false},
		{"before the new one comes", func(s *toolFiles, from string) error {
			if err := copyTree(context.Background(), from, s.beside("next")); err != nil {
				return err
			}
			return os.Rename(s.tools, s.beside("old"))
		}, true},
		{"before the old one is removed", func(s *toolFiles, from string) error {
			if err := os.Rename(s.tools, s.beside("old")); err != nil {
				return err
			}
			return copyTree(context.Background(), from, s.tools)
		}, true},
		{"without the new one", func(s *toolFiles, _ string) error { return os.Rename(s.tools, s.beside("old")) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newToolFiles(filepath.Join(t.TempDir(), "tools"), 50, slog.New(slog.DiscardHandler))
			fill(t, s.tools)
			then := tree(t, s.tools)
			sn, err := s.create(t.Context(), "mine", 7)
			check.OK(t, err)
			check.OK(t, os.WriteFile(filepath.Join(s.tools, "new.ts"), nil, 0o600))
			want := tree(t, s.tools)
			if c.rolls {
				want = then
			}
			check.OK(t, os.MkdirAll(filepath.Join(s.dir, ".unfinished/tools"), 0o700)) // of a copy that was cut
			check.OK(t, os.MkdirAll(filepath.Join(s.dir, ".git"), 0o700))              // of somebody else
			check.OK(t, c.steps(s, filepath.Join(s.dir, sn.ID, "tools")))
			check.OK(t, s.finish())
			if got := tree(t, s.tools); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if names := entries(t, filepath.Dir(s.tools)); fmt.Sprint(names) != "[.tools.good snapshots tools]" {
				t.Errorf("left behind: %v", names)
			}
			if names := entries(t, s.dir); fmt.Sprint(names) != "[.git "+sn.ID+"]" {
				t.Errorf("left behind: %v", names)
			}
		})
	}
}

// TestPrune: the oldest snapshots go, but never the initial one, nor the one to restore.
func TestPrune(t *testing.T) {
	t.Parallel()
	s := newToolFiles(filepath.Join(t.TempDir(), "tools"), 3, slog.New(slog.DiscardHandler))
	check.OK(t, s.makeInitial(t.Context(), 1))
	check.OK(t, s.makeInitial(t.Context(), 1))
	check.OK(t, os.WriteFile(filepath.Join(s.tools, "a.ts"), []byte("a"), 0o600))
	var made []string
	for range 5 {
		sn, err := s.create(t.Context(), "mine", 1)
		check.OK(t, err)
		made = append([]string{sn.ID}, made...)
	}
	if got := idsOf(t, s, "mine"); fmt.Sprint(got) != fmt.Sprint(made[:3]) {
		t.Errorf("kept are %v of %v", got, made)
	}
	oldest, err := s.find(made[2])
	check.OK(t, err)
	for range 5 {
		check.OK(t, s.restore(t.Context(), oldest, 1))
		if b, err := os.ReadFile(filepath.Join(s.tools, "a.ts")); err != nil || string(b) != "a" {
			t.Fatalf("restored is %q, %v", b, err)
		}
	}
	if n, mine, initial := len(idsOf(t, s, rescueName)), len(idsOf(t, s, "mine")), len(idsOf(t, s, initialName)); n != 3 || mine != 3 || initial != 1 {
		t.Errorf("there are %d, %d and %d snapshots", n, mine, initial)
	}
	rescued, err := s.find(idsOf(t, s, rescueName)[2]) // the next rollback pushes this one out
	check.OK(t, err)
	check.OK(t, s.restore(t.Context(), rescued, 1))
	if names := fmt.Sprint(entries(t, s.tools)); names != "[a.ts]" {
		t.Errorf("restored is %s", names)
	}
	if newest, err := s.find(""); err != nil || newest.ID != made[0] {
		t.Errorf("the most recent one is %+v, %v", newest, err)
	}
}

// TestSnapshotNames: names and ids lead nowhere but to snapshots.
func TestSnapshotNames(t *testing.T) {
	t.Parallel()
	r := start(t)
	for _, name := range []string{"", ".", "..", "../up", "a/b", "a b", ".hidden", "-x", "ä", strings.Repeat("x", 65), "a\\n"} {
		r.refuses("worker_snapshot", `{"name":"`+name+`"}`, "must be 1 to 64")
	}
	for _, name := range []string{initialName, rescueName} {
		r.refuses("worker_snapshot", `{"name":"`+name+`"}`, "the gateway uses")
	}
	r.refuses("worker_snapshot", `{}`, `"name"`)
	for _, id := range []string{"none_1", "../tools", "/", ".", "initial"} {
		r.refuses("worker_rollback", `{"snapshot":"`+id+`"}`, "there is no snapshot", "worker_snapshots lists all")
	}
	check.OK(t, os.MkdirAll(filepath.Join(r.files.dir, "no_snapshot"), 0o700))
	check.OK(t, os.WriteFile(filepath.Join(r.files.dir, "file"), nil, 0o600))
	if got := r.call("worker_snapshots", `{}`); got.IsError || strings.Count(got.Text, "\n") != 0 || !strings.HasPrefix(got.Text, "initial_") {
		t.Errorf("the snapshots are %s", shortened(got))
	}
	r.gives("worker_rollback", `{}`, "Rolled back to snapshot: "+r.ids(initialName)[0])
	check.OK(t, removeTree(r.files.dir))
	r.gives("worker_snapshots", `{}`, "There are no snapshots.")
	r.refuses("worker_rollback", `{}`, "there is no snapshot; worker_snapshot makes one")
	pid := r.now().PID
	r.gives("worker_restart", `{}`, "Secondary server restarted successfully")
	if len(r.ids(initialName)) != 1 || r.now().PID == pid {
		t.Errorf("the snapshots are %v", r.ids(initialName))
	}
}

// TestRollback: a rollback brings files and deleted built-in tools back at once, without counting
// as a crash.
func TestRollback(t *testing.T) {
	t.Parallel()
	r := start(t)
	fill(t, r.dir)
	r.write("mine.ts", file("mine", "Mine", "return 1;"))
	r.offers("mine", "Mine")
	r.call("dynamic_tool_delete", `{"name":"hash_text"}`)
	r.offers("hash_text", "")
	before := tree(t, r.dir)
	r.call("worker_snapshot", `{"name":"mine"}`)
	r.gives("worker_rollback", `{"snapshot":"`+r.ids(initialName)[0]+`"}`, "Rolled back to snapshot: "+r.ids(initialName)[0])
	if tool, ok := r.registry.Find("hash_text"); !ok {
		t.Errorf("%+v", tool)
	}
	if tool, ok := r.registry.Find("mine"); ok {
		t.Errorf("%+v", tool)
	}
	if n := entries(t, r.dir); len(n) != 0 {
		t.Errorf("the directory has %v", n)
	}
	r.gives("worker_rollback", `{}`, "Rolled back to snapshot: "+r.ids("mine")[0])
	if got := tree(t, r.dir); got != before {
		t.Errorf("got\n%s\nwant\n%s", got, before)
	}
	r.gives("mine", `{}`, "1")
	if _, ok := r.registry.Find("hash_text"); ok {
		t.Error("hash_text is there")
	}
	if s := r.now(); s.RestartCount != 0 {
		t.Errorf("the state is %+v", s)
	}
}

// TestRollbackAtOnce: rollbacks, creations, deletions, snapshots and restarts at the same time all
// end, and leave whole tools.
func TestRollbackAtOnce(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.call("worker_snapshot", `{"name":"mine"}`)
	var all sync.WaitGroup
	for i := range 4 {
		for _, c := range [][2]string{
			{"worker_rollback", `{}`},
			{"dynamic_tool_create", creation(t, fmt.Sprintf("made_%d", i), "return 'made'")},
			{"dynamic_tool_delete", `{"name":"hash_text"}`},
			{"worker_snapshot", `{"name":"other"}`},
			{"worker_restart", `{}`},
			{"worker_snapshots", `{}`},
			{"hello_world", `{}`},
		} {
			all.Go(func() {
				if got := r.call(c[0], c[1]); got.IsError && strings.HasPrefix(c[0], "worker_") {
					t.Errorf("%s: %s", c[0], shortened(got))
				}
			})
		}
	}
	all.Wait()
	if s := r.now(); s.RestartCount != 0 {
		t.Errorf("the state is %+v", s)
	}
	r.gives("worker_restart", `{}`, "Secondary server restarted successfully")
	for _, name := range entries(t, r.dir) {
		if made, ok := strings.CutSuffix(name, ".ts"); ok {
			r.gives(made, `{}`, "made")
		}
	}
	if problem := r.lastError(); problem != "" {
		t.Errorf("lastError is %s", problem)
	}
}

// TestSnapshotsEnd: the end of the gateway does not wait for a copy, and a rollback that was cut has changed
// nothing.
func TestSnapshotsEnd(t *testing.T) {
	t.Parallel()
	s := newToolFiles(filepath.Join(t.TempDir(), "tools"), 50, slog.New(slog.DiscardHandler))
	fill(t, s.tools)
	sn, err := s.create(t.Context(), "mine", 7)
	check.OK(t, err)
	check.OK(t, os.WriteFile(filepath.Join(s.tools, "new.ts"), nil, 0o600))
	want := tree(t, s.tools)
	ctx, end := context.WithCancelCause(t.Context())
	end(core.ErrClosed)
	if _, err := s.create(ctx, "other", 7); !errors.Is(err, core.ErrClosed) {
		t.Errorf("a copy after the end: %v", err)
	}
	if err := s.restore(ctx, sn, 7); !errors.Is(err, core.ErrClosed) {
		t.Errorf("a rollback after the end: %v", err)
	}
	if got := tree(t, s.tools); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if names := entries(t, s.dir); fmt.Sprint(names) != "["+sn.ID+"]" {
		t.Errorf("left behind: %v", names)
	}
}
