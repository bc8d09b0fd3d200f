package discovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/internal/testkit/check"
)

const maxDepth = 5

// searchOf returns a search among records in which the APIs on some ports answer.
func searchOf(records []Record, alive ...int) *Search {
	answers := map[int]bool{}
	for _, port := range alive {
		answers[port] = true
	}
	return &Search{
		Records: func() ([]Record, error) { return records, nil },
		Alive: func(_ context.Context, a App) error {
			if !answers[a.Port] {
				return errors.New("refused")
			}
			return nil
		},
		MaxDepth: maxDepth,
	}
}

// tree makes directories with port files, by their paths below a new directory, which is returned.
func tree(t *testing.T, ports map[string]string) string {
	t.Helper()
	root := realDir(t.TempDir())
	for path, text := range ports {
		dir := filepath.Join(root, path, DataDir)
		check.OK(t, os.MkdirAll(dir, 0o700))
		check.OK(t, os.WriteFile(filepath.Join(dir, portName), []byte(text), 0o600))
	}
	return root
}

// portsOf returns the ports of apps.
func portsOf(r Result) string {
	var ports []string
	for _, a := range r.Apps {
		ports = append(ports, fmt.Sprint(a.Port))
	}
	return strings.Join(ports, " ")
}

// TestFind: the nearest apps are found, from the app's own directory, from above, from below and from beside it.
func TestFind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ports map[string]string
		from  string
		want  string
		note  string
	}{
		"nothing":              {nil, "", "", ""},
		"in the directory":     {map[string]string{"": "3456"}, "", "3456", ""},
		"white space":          {map[string]string{"": "  7890\n  "}, "", "7890", ""},
		"in a child":           {map[string]string{"my-app": "4000"}, "", "4000", ""},
		"in two children":      {map[string]string{"b": "4001", "a": "4000"}, "", "4000 4001", ""},
		"itself before child":  {map[string]string{"": "3456", "my-app": "4000"}, "", "3456", ""},
		"in a parent":          {map[string]string{"": "6000"}, "src/components", "6000", ""},
		"in a sibling":         {map[string]string{"backend": "5000"}, "frontend", "5000", ""},
		"five above":           {map[string]string{"": "6000"}, "a/b/c/d/e", "6000", ""},
		"six above":            {map[string]string{"": "6000"}, "a/b/c/d/e/f", "", ""},
		"in node_modules":      {map[string]string{"node_modules": "4000"}, "", "", ""},
		"hidden":               {map[string]string{".cache": "4000"}, "", "", ""},
		"no number":            {map[string]string{"": "notanumber"}, "", "", "holds no port"},
		"out of range":         {map[string]string{"": "99999"}, "", "", "holds no port"},
		"zero":                 {map[string]string{"": "0"}, "", "", "holds no port"},
		"negative":             {map[string]string{"": "-1"}, "", "", "holds no port"},
		"left over":            {map[string]string{"": "9999"}, "", "", "is left over"},
		"left over, one above": {map[string]string{"app": "9999", "": "6000"}, "app", "6000", "is left over"},
	} {
		root := tree(t, c.ports)
		from := filepath.Join(root, c.from)
		check.OK(t, os.MkdirAll(from, 0o700))
		s := searchOf(nil, 3456, 4000, 4001, 5000, 6000, 7890)
		if c.want == "" {
			s.MaxDepth = min(maxDepth, strings.Count(c.from, "/")+1) // not beyond the test's own directories
		}
		if name == "nothing" || c.from == "" {
			s.MaxDepth = 0
		}
		if name == "six above" {
			s.MaxDepth = maxDepth
		}
		got := s.Find(t.Context(), from)
		if ports := portsOf(got); ports != c.want {
			t.Errorf("%s: found %q, want %q", name, ports, c.want)
		}
		if notes := strings.Join(got.Notes, "\n"); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
			t.Errorf("%s: notes %q, want %q", name, notes, c.note)
		}
	}
}

// TestFindObservers: observers are found by their records too, and several in one directory are told.
func TestFindObservers(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"shop": "4000"})
	shop := filepath.Join(root, "shop")
	first := Record{ID: "first", Dir: shop, Port: 4000, Proxy: "http://127.0.0.1:4400"}
	second := Record{ID: "second", Dir: shop, Port: 4001}
	hung := Record{ID: "hung", Dir: shop, Port: 4002}

	got := searchOf([]Record{first}, 4000).Find(t.Context(), shop)
	if len(got.Apps) != 1 || got.Apps[0].Observer != "first" || got.Apps[0].Proxy != first.Proxy || len(got.Notes) > 0 {
		t.Errorf("one observer: %+v", got)
	}
	got = searchOf([]Record{first, second, hung}, 4000, 4001).Find(t.Context(), filepath.Join(shop, "src"))
	if notes := fmt.Sprint(got.Notes); portsOf(got) != "4000 4001" || !strings.Contains(notes, "2 observers run in "+shop) || !strings.Contains(notes, "hung") {
		t.Errorf("two observers: %+v", got)
	}
	check.OK(t, os.Remove(portPath(shop)))
	got = searchOf([]Record{second}, 4001).Find(t.Context(), root)
	if portsOf(got) != "4001" {
		t.Errorf("without a port file: %+v", got)
	}
	got = searchOf([]Record{first, second, hung}, 4000, 4001).Running(t.Context())
	if portsOf(got) != "4000 4001" {
		t.Errorf("all: %+v", got)
	}
	link := filepath.Join(root, "link")
	check.OK(t, os.Symlink(shop, link))
	got = searchOf([]Record{second}, 4001).Find(t.Context(), root)
	if portsOf(got) != "4001" || len(got.Notes) > 0 {
		t.Errorf("with a link to the directory: %+v", got)
	}
}

// TestAwait: an app that starts is found at the next look, and a search for none ends.
func TestAwait(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"": "4000"})
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &Search{
			Records: func() ([]Record, error) { return nil, nil },
			Alive: func(context.Context, App) error {
				if time.Since(began) < 1200*time.Millisecond {
					return errors.New("refused")
				}
				return nil
			},
		}
		got := s.Await(t.Context(), root, 2*time.Second, 500*time.Millisecond)
		if portsOf(got) != "4000" || time.Since(began) != 1500*time.Millisecond {
			t.Errorf("found %q after %v", portsOf(got), time.Since(began))
		}
		began = time.Now()
		s.Alive = func(context.Context, App) error { return errors.New("refused") }
		got = s.Await(t.Context(), root, 2*time.Second, 500*time.Millisecond)
		if len(got.Apps) > 0 || len(got.Notes) != 1 || time.Since(began) != 2*time.Second {
			t.Errorf("found %+v after %v", got, time.Since(began))
		}
	})
}

// TestPortFile: the file is private, is replaced, and is removed by the one whose port it holds.
func TestPortFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check.OK(t, WritePort(dir, 4000))
	check.OK(t, WritePort(dir, 4001))
	for path, mode := range map[string]os.FileMode{"": os.ModeDir | 0o700, "port": 0o600, ".gitignore": 0o600} {
		info, err := os.Stat(filepath.Join(dir, DataDir, path))
		check.OK(t, err)
		if info.Mode() != mode {
			t.Errorf("%q has mode %v", path, info.Mode())
		}
	}
	check.OK(t, RemovePort(dir, 4000))
	if port, err := readPort(dir); err != nil || port != 4001 {
		t.Errorf("port %d, %v", port, err)
	}
	check.OK(t, RemovePort(dir, 4001))
	check.OK(t, RemovePort(dir, 4001))
	if _, err := os.Stat(portPath(dir)); !os.IsNotExist(err) {
		t.Error(err)
	}

	elsewhere := t.TempDir()
	other := t.TempDir()
	check.OK(t, os.Symlink(elsewhere, filepath.Join(other, DataDir)))
	if err := WritePort(other, 4000); err == nil {
		t.Error("a port file is written through a link")
	}
	if _, err := readPort(other); err == nil || !strings.Contains(err.Error(), "is a symbolic link") {
		t.Errorf("through a link: %v", err)
	}
	check.OK(t, WritePort(elsewhere, 4000))
	check.OK(t, os.Symlink(portPath(elsewhere), portPath(dir)))
	if _, err := readPort(dir); err == nil || !strings.Contains(err.Error(), "is a symbolic link") {
		t.Errorf("of a link: %v", err)
	}
	check.OK(t, WritePort(dir, 4002))
	if port, err := readPort(elsewhere); err != nil || port != 4000 {
		t.Errorf("a port is written through a link: %d, %v", port, err)
	}
	check.OK(t, RemovePort(dir, 4002))
	check.OK(t, syscall.Mkfifo(portPath(dir), 0o600))
	if _, err := readPort(dir); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("of a FIFO: %v", err)
	}
}

// TestRecords: records are private, those of ended observers are told apart, and what is no record is told.
func TestRecords(t *testing.T) {
	t.Parallel()
	dir := Records(filepath.Join(t.TempDir(), "observe"))
	if all, err := dir.All(); len(all) > 0 || err != nil {
		t.Errorf("at first: %v, %v", all, err)
	}
	live, err := Own("live")
	check.OK(t, err)
	live.Dir = "/srv/shop"
	dead := live
	dead.ID = "dead"
	dead.Start++
	dead.Started = live.Started.Add(-time.Hour)
	old := live
	old.ID = "old"
	old.Boot = "another"
	for _, r := range []Record{live, dead, old} {
		check.OK(t, dir.Write(r))
	}
	info, err := os.Stat(filepath.Join(string(dir), "live.json"))
	check.OK(t, err)
	if info.Mode() != 0o600 {
		t.Errorf("a record has mode %v", info.Mode())
	}
	all, err := dir.All()
	check.OK(t, err)
	if len(all) != 3 || all[0].ID != "dead" {
		t.Errorf("all: %+v", all)
	}
	running, err := dir.Live()
	check.OK(t, err)
	if len(running) != 1 || running[0] != live {
		t.Errorf("live: %+v, want %+v", running, live)
	}
	check.OK(t, os.WriteFile(filepath.Join(string(dir), "bad.json"), []byte("{"), 0o600))
	check.OK(t, os.WriteFile(filepath.Join(string(dir), "other.json"), []byte(`{"id":"live","pid":1}`), 0o600))
	all, err = dir.All()
	if len(all) != 3 || err == nil || !strings.Contains(err.Error(), "bad.json") || !strings.Contains(err.Error(), "other.json") {
		t.Errorf("with files that are no records: %d, %v", len(all), err)
	}
	check.OK(t, dir.Remove("dead"))
	check.OK(t, dir.Remove("dead"))
	for _, id := range []string{"", "../x", "A", strings.Repeat("a", maxID+1)} {
		if dir.Write(Record{ID: id}) == nil || dir.Remove(id) == nil {
			t.Errorf("%q is taken for an id", id)
		}
	}
}
