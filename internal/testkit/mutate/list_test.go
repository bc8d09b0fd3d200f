package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

const root = "../../.."

// TestListIsCurrent: each mutation finds its line, its test and its promise, and each promise has
// one.
func TestListIsCurrent(t *testing.T) {
	t.Parallel()
	promised := map[string]bool{}
	for row := range strings.Lines(promises(t)) {
		if cells := strings.Split(row, "|"); len(cells) > 3 && !strings.HasPrefix(cells[1], "---") {
			promised[strings.TrimSpace(cells[1])] = false
		}
	}
	for _, head := range []string{"process", "what happens", "fault"} {
		delete(promised, head)
	}
	for i := range mutations {
		m := &mutations[i]
		source, err := os.ReadFile(filepath.Join(root, m.File))
		check.OK(t, err)
		if _, err := m.apply(source); err != nil {
			t.Error(err)
		}
		if strings.Contains(m.Old, "\n") || strings.Contains(m.New, "\n") {
			t.Errorf("%s: %q is more than a line", m.File, m.Old)
		}
		if !hasTests(t, m) {
			t.Errorf("%s has no test %s", m.Package, m.Test)
		}
		cover(t, promised, m.Promise)
	}
	for promise, why := range elsewhere {
		if why == "" {
			t.Errorf("nothing says why %q has no mutation", promise)
		}
		cover(t, promised, promise)
	}
	for promise, covered := range promised {
		if !covered {
			t.Errorf("no mutation breaks the promise: %s", promise)
		}
	}
}

// promises returns the tables of docs/lifetimes.md about messages and faults.
func promises(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join(root, "docs/lifetimes.md"))
	check.OK(t, err)
	_, rest, ok1 := strings.Cut(string(doc), "\n## What becomes of messages\n")
	rows, _, ok2 := strings.Cut(rest, "\n## Under systemd\n")
	if !ok1 || !ok2 {
		t.Fatal("docs/lifetimes.md has other parts now")
	}
	return rows
}

// cover marks the rows that begin with a promise.
func cover(t *testing.T, promised map[string]bool, promise string) {
	t.Helper()
	found := false
	for row := range promised {
		if strings.HasPrefix(row, promise) {
			promised[row], found = true, true
		}
	}
	if !found {
		t.Errorf("docs/lifetimes.md does not promise anything about %q", promise)
	}
}

func hasTests(t *testing.T, m *Mutation) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, m.Package, "*_test.go"))
	check.OK(t, err)
	all := ""
	for _, file := range files {
		b, err := os.ReadFile(file)
		check.OK(t, err)
		all += string(b)
	}
	for name := range strings.SplitSeq(m.Test, "|") {
		if !regexp.MustCompile(`(?m)^func ` + name + `\(`).MatchString(all) {
			return false
		}
	}
	return true
}
