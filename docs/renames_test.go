package docs

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// TestRenamesLeadSomewhere looks for each new name in the table of renames: a file, a directory,
// or a word of the sources.
func TestRenamesLeadSomewhere(t *testing.T) {
	t.Parallel()
	words, paths := map[string]bool{}, []string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" { // a file in a further worktree
			return fs.SkipDir
		}
		paths = append(paths, filepath.ToSlash(path))
		if strings.HasSuffix(path, ".go") {
			for _, w := range regexp.MustCompile(`\w+`).FindAllString(read(t, path), -1) {
				words[w] = true
			}
		}
		return nil
	})
	check.OK(t, err)
	leads := func(name string) bool {
		if strings.ContainsRune(name, '/') || regexp.MustCompile(`\.(go|md)$`).MatchString(name) {
			return slices.ContainsFunc(paths, func(p string) bool { return strings.HasSuffix(p, "/"+name) })
		}
		return !slices.ContainsFunc(strings.Split(name, "."), func(part string) bool { return !words[part] })
	}
	names := 0
	for line := range strings.Lines(read(t, "design/renames.md")) {
		columns := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(columns) < 2 {
			continue
		}
		for _, quoted := range code.FindAllString(columns[len(columns)-1], -1) {
			for _, name := range strings.FieldsFunc(quoted, func(r rune) bool { return strings.ContainsRune("` ,()…", r) }) {
				names++
				if !strings.ContainsAny(name, "*{}") && !leads(strings.TrimSuffix(name, "/")) {
					t.Errorf("%q of the row %q is nowhere", name, strings.TrimSpace(line))
				}
			}
		}
	}
	if names < 300 {
		t.Errorf("only %d names were found", names)
	}
}
