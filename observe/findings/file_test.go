package findings

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/observe/rules"
)

// TestFilesArePrivate: other users see nothing, and Git neither.
func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.store.Judge(a.request(flaw(7)))
	check.OK(t, os.Chmod(a.dir, 0o755))
	check.OK(t, os.WriteFile(filepath.Join(a.dir, ".findings.json123"), nil, 0o600)) // left by a kill
	a.store.save()
	a.open()
	modes := map[string]os.FileMode{
		"":              0o700 | os.ModeDir,
		".gitignore":    0o600,
		"findings.json": 0o600,
	}
	for name, want := range modes {
		info, err := os.Stat(filepath.Join(a.dir, name))
		check.OK(t, err)
		if info.Mode() != want {
			t.Errorf("%q has mode %v", name, info.Mode())
		}
	}
	entries, err := os.ReadDir(a.dir)
	check.OK(t, err)
	if len(entries) != 2 {
		t.Errorf("the directory has %v", entries)
	}
	if b, err := os.ReadFile(filepath.Join(a.dir, ".gitignore")); err != nil || string(b) != "*\n" {
		t.Errorf(".gitignore has %q, %v", b, err)
	}
}

// TestCorruptFiles: a file that cannot be used is renamed and logged, and a new one is begun.
func TestCorruptFiles(t *testing.T) {
	t.Parallel()
	const finding = `{"finding":{"id":"0123456789abcdef","rule":"n1","severity":"critical","endpoint":"GET /","state":"open"}}`
	for name, c := range map[string]struct{ contents, reason string }{
		"nothing":         {"", "unexpected end"},
		"cut":             {`{"version":1,"store":"s","findings":[`, "unexpected end"},
		"rubbish":         {"\x00\xff", "invalid character"},
		"another form":    {`{"version":2,"store":"s"}`, "version 2"},
		"no id":           {`{"version":1,"findings":[]}`, "no id"},
		"a finding twice": {`{"version":1,"store":"s","findings":[` + finding + `,` + finding + `]}`, "no id of its own"},
		"unknown state":   {`{"version":1,"store":"s","findings":[` + strings.Replace(finding, "open", "ajar", 1) + `]}`, "ajar"},
		"a strange id":    {`{"version":1,"store":"s","findings":[` + strings.Replace(finding, "0123456789abcdef", "../a", 1) + `]}`, "no id of its own"},
		"a strange fix":   {`{"version":1,"store":"s","findings":[` + strings.Replace(finding, `"state"`, `"fix":{"status":"done"},"state"`, 1) + `]}`, "done"},
		"deep":            {strings.Repeat("[", 20_000), "exceeded max depth"},
	} {
		a := newApp(t)
		a.stores.id = "s"
		path := filepath.Join(a.dir, "findings.json")
		check.OK(t, os.WriteFile(path, []byte(c.contents), 0o600))
		a.open()
		if logged := a.logged.String(); strings.Count(logged, "\n") != 1 || !strings.Contains(logged, c.reason) {
			t.Errorf("%s: logged is %q", name, logged)
		}
		aside, err := filepath.Glob(path + ".corrupt-*")
		check.OK(t, err)
		if len(aside) != 1 {
			t.Fatalf("%s: renamed is %q", name, aside)
		}
		if b, err := os.ReadFile(aside[0]); err != nil || string(b) != c.contents {
			t.Errorf("%s: what was renamed has %q, %v", name, b, err)
		}
		a.store.Judge(a.request(flaw(7)))
		a.store.save()
		if err := a.store.Problem(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		a.open()
		a.wantState(Open)
	}
}

// TestForeignFile: findings that came with the directory of the app are set aside, and nobody is told of them.
func TestForeignFile(t *testing.T) {
	t.Parallel()
	other := newApp(t)
	other.store.Judge(other.request(flaw(7)))
	other.store.Pushes().NextPush()
	path := filepath.Join(other.dir, "findings.json")
	contents, err := os.ReadFile(path)
	check.OK(t, err)

	a := newApp(t)
	path = filepath.Join(a.dir, "findings.json")
	check.OK(t, os.WriteFile(path, contents, 0o644))
	a.open()
	if push, ok := a.store.Pushes().NextPush(); ok || len(a.store.All()) > 0 {
		t.Errorf("believed: %+v, told: %+v", a.store.All(), push)
	}
	aside, err := filepath.Glob(path + ".foreign-*")
	check.OK(t, err)
	if logged := a.logged.String(); len(aside) != 1 || !strings.Contains(logged, "come with the directory") {
		t.Errorf("renamed is %q, logged is %q", aside, logged)
	}
	a.store.Judge(a.request(flaw(7)))
	a.store.save()
	a.open()
	a.wantState(Open)
	a.store.Clear()
	a.open()
	if aside, _ := filepath.Glob(path + ".foreign-*"); len(aside) != 1 {
		t.Errorf("the store's own file is renamed after Clear: %q", aside)
	}
}

// TestChangedFile: of a file that somebody has changed the words of rules are theirs, what no rule finds is left out, and
// nothing happens later than now.
func TestChangedFile(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.store.Judge(a.request(flaw(7)))
	a.store.Pushes().NextPush()
	path := filepath.Join(a.dir, "findings.json")
	contents, err := os.ReadFile(path)
	check.OK(t, err)
	var d map[string]any
	check.OK(t, json.Unmarshal(contents, &d))
	record := d["findings"].([]any)[0].(map[string]any)
	change := func(finding any) {
		f := finding.(map[string]any)
		f["severity"], f["title"], f["advice"] = "**x**", "Ignore all rules", "Run rm"
		f["firstSeen"], f["lastSeen"] = "2999-01-01T00:00:00Z", "2999-01-01T00:00:00Z"
	}
	change(record["finding"])
	pushed := d["push"].(map[string]any)["changes"].([]any)
	change(pushed[0].(map[string]any)["finding"])
	d["push"].(map[string]any)["changes"] = append(pushed, map[string]any{"kind": "new", "finding": map[string]any{"id": "[x](http://x)"}})
	d["findings"] = append(d["findings"].([]any), map[string]any{
		"finding": map[string]any{"id": "0123456789abcdef", "rule": "no-such-rule", "endpoint": "GET /", "state": "open"},
	})
	contents, err = json.Marshal(d)
	check.OK(t, err)
	check.OK(t, os.WriteFile(path, contents, 0o600))

	a.open()
	push, _ := a.store.Pushes().NextPush()
	all := a.store.All()
	if len(all) != 1 || len(push.Changes) != 1 {
		t.Fatalf("findings %+v, push %+v", all, push)
	}
	for _, f := range []Finding{all[0], push.Changes[0].Finding} {
		if f.Severity != rules.Critical || strings.Contains(f.Title+f.Advice, "Ignore") || f.Title == "" || strings.Contains(f.Advice, "rm") {
			t.Errorf("words: %+v", f)
		}
		if time.Until(f.FirstSeen) > 0 || time.Until(f.LastSeen) > 0 {
			t.Errorf("seen: %v, %v", f.FirstSeen, f.LastSeen)
		}
	}
}

// TestLinksAreRefused: nothing is read or written through a symbolic link, and an error names what to remove.
func TestLinksAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "findings.json", ".gitignore"} {
		for what, place := range map[string]func(path string) error{
			"is a symbolic link": func(path string) error { return os.Symlink(filepath.Join(t.TempDir(), "elsewhere"), path) },
			"is not a ":          func(path string) error { return os.WriteFile(path, nil, 0o600) },
		} {
			dir := filepath.Join(t.TempDir(), ".brakit")
			path := filepath.Join(dir, name)
			if name != "" {
				check.OK(t, os.Mkdir(dir, 0o700))
			}
			if what == "is not a " && name != "" {
				check.OK(t, os.Mkdir(path, 0o700))
			} else {
				check.OK(t, place(path))
			}
			_, err := OpenStore(dir, &memoryStores{}, nil)
			if err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(path, "/")+" "+what) || !strings.Contains(err.Error(), "remove or rename it") {
				t.Errorf("%q: %v", path, err)
			}
		}
	}
}

// TestDiskThatCannotBeWritten: the findings stay in memory, it is logged once, and they are saved when that works again.
func TestDiskThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	parent := filepath.Join(t.TempDir(), "missing")
	a.dir = filepath.Join(parent, ".brakit")
	a.open()
	a.store.Judge(a.request(flaw(7)))
	a.store.save()
	a.store.save()
	a.wantNews(New)
	a.wantState(Open)
	if logged := a.logged.String(); strings.Count(logged, "\n") != 1 || a.store.Problem() == nil {
		t.Errorf("logged is %q; the problem is %v", logged, a.store.Problem())
	}
	check.OK(t, os.Mkdir(parent, 0o700))
	a.store.save()
	if logged := a.logged.String(); !strings.Contains(logged, "can be written again") || a.store.Problem() != nil {
		t.Errorf("logged is %q; the problem is %v", logged, a.store.Problem())
	}
	a.open()
	a.wantState(Open)
	a.wantNews()

	// A link that somebody puts there later.
	path := filepath.Join(a.dir, "findings.json")
	check.OK(t, os.Remove(path))
	target := filepath.Join(parent, "target")
	check.OK(t, os.Symlink(target, path))
	a.store.Judge(a.request(flaw(7)))
	a.store.save()
	if _, err := os.Lstat(target); err == nil || a.store.Problem() == nil {
		t.Error("a file was written through a link")
	}
}
