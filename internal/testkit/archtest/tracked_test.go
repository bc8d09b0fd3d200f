package archtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// Large fixtures, by path. The repository needs none so far.
var largeFixtures []string

// TestTrackedFiles holds that the repository contains no built program and no large file.
// Only scripts may be executable.
func TestTrackedFiles(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	cmd := exec.Command("git", "ls-files", "--stage", "-z")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("NOT TESTED: tracked files: no git checkout: %v", err)
	}
	for entry := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		stage, path, _ := strings.Cut(entry, "\t")
		b, err := os.ReadFile(filepath.Join(root, path))
		if os.IsNotExist(err) {
			continue // removed, and not yet committed
		}
		check.OK(t, err)
		if problem := checkTracked(path, strings.HasPrefix(stage, "100755"), b); problem != "" {
			t.Errorf("%s %s", path, problem)
		}
	}
}

func TestCheckTracked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		executable bool
		content    string
		want       string
	}{
		{false, "text", ""},
		{true, "#!/bin/sh\n", ""},
		{true, "text", "is executable and no script"},
		{false, "\x7fELF\x02", "is a built program"},
		{true, "\xcf\xfa\xed\xfe", "is a built program"},
		{false, "MZ\x90\x00", "is a built program"},
		{false, strings.Repeat("x", 1<<20+1), "is larger than 1 MiB"},
	} {
		if got := checkTracked("file", c.executable, []byte(c.content)); got != c.want {
			t.Errorf("%.10q: %q, want %q", c.content, got, c.want)
		}
	}
}

// checkTracked returns what is wrong with a file of the repository.
func checkTracked(path string, executable bool, content []byte) (problem string) {
	for _, magic := range []string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xfe\xed\xfa\xcf", "\xca\xfe\xba\xbe", "MZ\x90\x00"} {
		if bytes.HasPrefix(content, []byte(magic)) {
			return "is a built program"
		}
	}
	switch {
	case executable && !bytes.HasPrefix(content, []byte("#!")):
		return "is executable and no script"
	case len(content) > 1<<20 && !slices.Contains(largeFixtures, path):
		return "is larger than 1 MiB"
	}
	return ""
}
