package check

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// DependOnSources has `go test` run the test again when a file below dir has changed since. Go
// keeps results, and knows only the files at which the test itself has looked, not those that
// another go command has compiled for the test.
func DependOnSources(dir string) error {
	dir, err := filepath.Abs(dir) // go does not see a change of the directory before the tests
	if err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != dir && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin") {
			return fs.SkipDir
		}
		return err
	})
}
