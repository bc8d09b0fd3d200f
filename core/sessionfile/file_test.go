package sessionfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"bareclaw/core"
	"bareclaw/core/sessionfile"
	"bareclaw/internal/testkit/check"

	"github.com/google/uuid"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// childEnv makes the test binary hold that session file until its input ends.
const childEnv = "SESSIONFILE_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		os.Exit(child(path))
	}
	goleak.VerifyTestMain(m)
}

func child(path string) int {
	f, err := sessionfile.Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for i := 0; ; i++ {
		if err := f.Set(core.ChannelKey(fmt.Sprint("channel ", i%100)), uuid.NewString()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(os.Getpid())
	}
}

const (
	idA = "0b9fbb1c-5d0a-4a3e-9f43-3a1b6a1f0001"
	idB = "0b9fbb1c-5d0a-4a3e-9f43-3a1b6a1f0002"
	idC = "0b9fbb1c-5d0a-4a3e-9f43-3a1b6a1f0003"
)

func open(t testing.TB, path string) *sessionfile.File {
	t.Helper()
	f, err := sessionfile.Open(path, slog.New(slog.DiscardHandler))
	check.OK(t, err)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func contents(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	check.OK(t, err)
	return string(b)
}

func set(t testing.TB, f *sessionfile.File, key core.ChannelKey, id string) {
	t.Helper()
	check.OK(t, f.Set(key, id))
}

func TestSetAndForgetAreOnDisk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state", "sessions.json")
	f := open(t, path)
	if len(f.All()) != 0 || f.Problem() != "" {
		t.Errorf("a missing file gives %v, %q", f.All(), f.Problem())
	}
	set(t, f, "tg-<1>", idA)
	set(t, f, "http", idB)
	want := "{\n  \"http\": \"" + idB + "\",\n  \"tg-<1>\": \"" + idA + "\"\n}\n"
	if got := contents(t, path); got != want {
		t.Errorf("file = %q, want %q", got, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file is %v, %v, want mode 600", info.Mode(), err)
	}
	check.OK(t, f.Forget("http"))
	if got, ok := f.Get("http"); ok {
		t.Errorf("a forgotten channel has session %s", got)
	}
	check.OK(t, f.Close())
	f = open(t, path)
	if want := map[core.ChannelKey]string{"tg-<1>": idA}; !maps.Equal(f.All(), want) {
		t.Errorf("read again: %v, want %v", f.All(), want)
	}
	if got, ok := f.Get("tg-<1>"); !ok || got != idA {
		t.Errorf("session = %q, %v, want %q", got, ok, idA)
	}
}

func TestNothingIsWrittenWithoutAChange(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.json")
	f := open(t, path)
	set(t, f, "a", idA)
	before, err := os.Stat(path)
	check.OK(t, err)
	set(t, f, "a", idA)
	check.OK(t, f.Forget("unknown"))
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was replaced (%v)", err)
	}
}

func TestSetRefuses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.json")
	f := open(t, path)
	set(t, f, "a", idA)
	for name, c := range map[string]struct {
		key  core.ChannelKey
		id   string
		says string
	}{
		"no uuid":           {"b", "abc", "not a UUID"},
		"empty":             {"b", "", "not a UUID"},
		"another form":      {"b", "{" + idB + "}", "not a UUID"},
		"another channel's": {"b", strings.ToUpper(idA), `session of channel "a"`},
		"unwritable name":   {"b\xff", idB, "UTF-8"},
	} {
		if err := f.Set(c.key, c.id); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error = %v, want one that says %q", name, err, c.says)
		}
	}
	if want := map[core.ChannelKey]string{"a": idA}; !maps.Equal(f.All(), want) {
		t.Errorf("entries = %v, want %v", f.All(), want)
	}
	check.OK(t, f.Close())
	if err := f.Set("b", idB); !errors.Is(err, core.ErrClosed) {
		t.Errorf("after close: %v, want ErrClosed", err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func TestDamagedFileIsSetAside(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		contents string
		want     map[core.ChannelKey]string
		says     string
	}{
		"empty":        {"", nil, "not a JSON object"},
		"not JSON":     {"hello", nil, "not a JSON object"},
		"an array":     {"[]", nil, "not a JSON object"},
		"null":         {"null", nil, "not a JSON object"},
		"cut short":    {`{"a": "` + idA + `", "b": "` + idB[:9], map[core.ChannelKey]string{"a": idA}, "not a JSON object"},
		"a number":     {`{"a": 1, "b": "` + idB + `"}`, map[core.ChannelKey]string{"b": idB}, "not a UUID"},
		"no uuid":      {`{"a": "x", "b": "` + idB + `"}`, map[core.ChannelKey]string{"b": idB}, "not a UUID"},
		"shared":       {`{"a": "` + idA + `", "b": "` + strings.ToUpper(idA) + `", "c": "` + idC + `"}`, map[core.ChannelKey]string{"a": idA, "c": idC}, "same session"},
		"twice":        {`{"a": "` + idA + `", "a": "` + idB + `"}`, map[core.ChannelKey]string{"a": idA}, "duplicate"},
		"something on": {`{"a": "` + idA + `"} x`, map[core.ChannelKey]string{"a": idA}, "after top-level value"},
		"bad name":     {`{"a\ud800": "` + idA + `"}`, nil, "surrogate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "sessions.json")
			check.OK(t, os.WriteFile(path, []byte(c.contents), 0o644))
			var logged bytes.Buffer
			f, err := sessionfile.Open(path, slog.New(slog.NewTextHandler(&logged, nil)))
			check.OK(t, err)
			if !maps.Equal(f.All(), c.want) {
				t.Errorf("entries = %v, want %v", f.All(), c.want)
			}
			asides, err := filepath.Glob(path + ".corrupt-*")
			if err != nil || len(asides) != 1 {
				t.Fatalf("set aside: %v, %v, want one file", asides, err)
			}
			if got := contents(t, asides[0]); got != c.contents {
				t.Errorf("set aside = %q, want the original", got)
			}
			if p := f.Problem(); !strings.Contains(p, c.says) || !strings.Contains(p, asides[0]) {
				t.Errorf("problem = %q, want one that names %s and says %q", p, asides[0], c.says)
			}
			if !strings.Contains(logged.String(), "session file was damaged") {
				t.Errorf("log = %q", logged.String())
			}
			check.OK(t, f.Close())
			again := open(t, path)
			if again.Problem() != "" || !maps.Equal(again.All(), c.want) {
				t.Errorf("opened again: %v, %q", again.All(), again.Problem())
			}
		})
	}
}

func TestEveryDamagedFileIsKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.json")
	for range 3 {
		check.OK(t, os.WriteFile(path, []byte("rubbish"), 0o600))
		check.OK(t, open(t, path).Close())
	}
	if asides, err := filepath.Glob(path + ".corrupt-*"); err != nil || len(asides) != 3 {
		t.Errorf("set aside: %v, %v, want three files", asides, err)
	}
}

// TestLinksAreRefused: a link in the place of the file or of its lock, wherever the link leads,
// changes nothing, and nothing appears beside it.
func TestLinksAreRefused(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]string{"the file": "sessions.json", "its lock": "sessions.json.lock"} {
		for to, target := range map[string]string{"a file": "victim", "a session file": "other.json", "nothing": "missing", "itself": place, "a directory": "."} {
			t.Run(name+" to "+to, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				check.OK(t, os.WriteFile(filepath.Join(dir, "victim"), []byte("alias ls=ls\n"), 0o644))
				check.OK(t, os.WriteFile(filepath.Join(dir, "other.json"), []byte(`{"a": "`+idA+`"}`), 0o644))
				check.OK(t, os.Symlink(target, filepath.Join(dir, place)))
				before := listed(t, dir)
				_, err := sessionfile.Open(filepath.Join(dir, "sessions.json"), slog.New(slog.DiscardHandler))
				if err == nil || !strings.Contains(err.Error(), "symbolic link") || !strings.Contains(err.Error(), "BARECLAW_SESSION_FILE") {
					t.Errorf("error = %v, want one that names the link and the setting", err)
				}
				if after := listed(t, dir); after != before {
					t.Errorf("the directory was\n%s\nand is\n%s", before, after)
				}
			})
		}
	}
}

// listed describes the files of a directory: modes, sizes and contents.
func listed(t testing.TB, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	check.OK(t, err)
	var all strings.Builder
	for _, e := range entries {
		info, err := e.Info()
		check.OK(t, err)
		text := ""
		if e.Type().IsRegular() {
			text = contents(t, filepath.Join(dir, e.Name()))
		}
		fmt.Fprintln(&all, e.Name(), info.Mode(), text)
	}
	return all.String()
}

// TestDirectoriesMayBeLinks: a file system's own layout is no harm, and the lock is the same.
func TestDirectoriesMayBeLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check.OK(t, os.Mkdir(filepath.Join(dir, "real"), 0o700))
	check.OK(t, os.Symlink("real", filepath.Join(dir, "link")))
	set(t, open(t, filepath.Join(dir, "link", "s.json")), "a", idA)
	if got := contents(t, filepath.Join(dir, "real", "s.json")); !strings.Contains(got, idA) {
		t.Errorf("file = %q", got)
	}
	if _, err := sessionfile.Open(filepath.Join(dir, "real", "s.json"), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("the file can be opened twice")
	}
}

func TestOpenRefusesBadPlaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check.OK(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	check.OK(t, os.MkdirAll(filepath.Join(dir, "d"), 0o700))
	check.OK(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	for name, path := range map[string]string{
		"in a file": filepath.Join(dir, "file", "s.json"), "a directory": filepath.Join(dir, "d"), "a named pipe": filepath.Join(dir, "pipe"),
	} {
		if _, err := sessionfile.Open(path, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error = %v, want one that names %s", name, err, path)
		}
	}
}

func TestConcurrentChangesShareWrites(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.json")
	f := open(t, path)
	var wg sync.WaitGroup
	want := make(map[core.ChannelKey]string)
	for i := range 100 {
		key, id := core.ChannelKey(fmt.Sprint("channel ", i)), uuid.NewString()
		if i%10 != 0 {
			want[key] = id
		}
		wg.Go(func() {
			if err := f.Set(key, id); err != nil {
				t.Error(err)
			}
			if i%10 == 0 {
				if err := f.Forget(key); err != nil {
					t.Error(err)
				}
			} else if got := contents(t, path); !strings.Contains(got, id) {
				t.Errorf("session of %s is not on disk", key)
			}
		})
	}
	wg.Wait()
	if !maps.Equal(f.All(), want) {
		t.Errorf("%d entries, want %d", len(f.All()), len(want))
	}
}

// TestKillNine kills a process that writes, on the same file again and again:
// what it reported is there, the file is whole, its lock is free, and nothing
// else is left.
func TestKillNine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "sessions.json")
	for round := range 8 {
		self, err := os.Executable()
		check.OK(t, err)
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), childEnv+"="+path)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		check.OK(t, err)
		check.OK(t, cmd.Start())
		line := make([]byte, 1)
		for range 50 + round {
			if _, err := out.Read(line); err != nil {
				t.Fatal(err)
			}
		}
		_, err = sessionfile.Open(path, slog.New(slog.DiscardHandler))
		if want := "process " + strconv.Itoa(cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want one that says %q", err, want)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Error("the child ended by itself")
		}
		f := open(t, path)
		if f.Problem() != "" || len(f.All()) == 0 {
			t.Errorf("after kill -9: %d entries, %q", len(f.All()), f.Problem())
		}
		check.OK(t, f.Close())
	}
	entries, err := os.ReadDir(dir)
	check.OK(t, err)
	if len(entries) != 2 {
		t.Errorf("left behind: %v, want the file and its lock", entries)
	}
}
