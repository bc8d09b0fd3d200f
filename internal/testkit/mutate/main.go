// Command mutate breaks the promises of docs/lifetimes.md one by one, in a copy of the source tree,
// and runs the test that is to notice it: a test that passes all the same looks away. The promises
// are in list.go. Run it in the root of the project:
//
//	go run ./internal/testkit/mutate [-run REGEXP]
//
// REGEXP selects mutations by their promise, package or test. A run of all takes an hour or more.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A Mutation breaks a promise by one line.
type Mutation struct {
	Promise string // the beginning of its row in docs/lifetimes.md
	File    string
	Old     string // a part of one line of File, which no other line has
	New     string // what stands there instead
	Package string
	Test    string // which fails with New
}

// testTimeout bounds a test whose promise is broken: it may wait for what does not come.
const testTimeout = 15 * time.Minute

func main() {
	pattern := flag.String("run", "", "`regexp` of promise, package or test")
	flag.Parse()
	if err := run(*pattern); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(pattern string) error {
	chosen, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	tree, err := copyTree()
	if err != nil {
		return fmt.Errorf("copy the tree: %w", err)
	}
	missed := 0
	for i := range mutations {
		m := &mutations[i]
		if !chosen.MatchString(m.Promise) && !chosen.MatchString(m.Package) && !chosen.MatchString(m.Test) {
			continue
		}
		began := time.Now()
		err := m.try(tree)
		if err != nil {
			missed++
		}
		fmt.Printf("%-10s %s, %s: %s (%s)\n", cmp.Or(errText(err), "caught"), m.Package, m.Test, m.Promise, time.Since(began).Round(time.Second))
	}
	if missed > 0 {
		return fmt.Errorf("%d mutations were not caught", missed)
	}
	return nil
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return "NOT CAUGHT (" + err.Error() + ")"
}

// copyTree copies the files that are tracked, or could be, to a directory of their own, which stays
// the same from run to run: the build cache goes by it.
func copyTree() (tree string, err error) {
	tree = filepath.Join(os.TempDir(), fmt.Sprintf("bareclaw-mutate-%d", os.Getuid()))
	if err := os.RemoveAll(tree); err != nil {
		return "", err
	}
	out, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return "", fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if err := copyFile(name, filepath.Join(tree, name)); err != nil && !errors.Is(err, fs.ErrNotExist) { // removed, and still tracked
			return "", err
		}
	}
	return tree, nil
}

func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if info.Mode().Type() == fs.ModeSymlink {
		target, err := os.Readlink(from)
		return errors.Join(err, os.Symlink(target, to))
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, info.Mode().Perm())
}

// try applies the mutation to the tree, and undoes it. The error is nil if the test has noticed it.
func (m *Mutation) try(tree string) (err error) {
	path := filepath.Join(tree, m.File)
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	mutated, err := m.apply(source)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, mutated, 0o600); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.WriteFile(path, source, 0o600)) }()
	in := func(args ...string) ([]byte, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = tree
		return cmd.CombinedOutput()
	}
	if strings.HasPrefix(m.Package, "./internal/e2e/") { // whose tests build the program themselves
		if out, err := in("build", "-o", os.DevNull, "."); err != nil {
			return fmt.Errorf("it does not compile: %s", bytes.TrimSpace(out))
		}
	}
	out, err := in("test", "-vet=off", "-count=1", "-timeout", testTimeout.String(), "-run", "^("+m.Test+")$", m.Package)
	switch failed := (*exec.ExitError)(nil); {
	case errors.As(err, &failed) && !bytes.Contains(out, []byte("[build failed]")):
		return nil
	case err != nil:
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	case bytes.Contains(out, []byte("no tests to run")):
		return errors.New("there is no such test")
	}
	return errors.New("the test passes")
}

// apply returns the source with the mutation.
func (m *Mutation) apply(source []byte) ([]byte, error) {
	if n := bytes.Count(source, []byte(m.Old)); n != 1 {
		return nil, fmt.Errorf("%s has %q %d times, not once", m.File, m.Old, n)
	}
	return bytes.Replace(source, []byte(m.Old), []byte(m.New), 1), nil
}
