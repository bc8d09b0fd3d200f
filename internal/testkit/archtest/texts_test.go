package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// isNo finds "x is no y", which should be "x is not a y". "There is no y" is fine.
var isNo = regexp.MustCompile(`(?i)(\bthere )?\bis no ([a-z]+)`)

// TestTextsSayNot reads the texts of the program.
func TestTextsSayNot(t *testing.T) {
	t.Parallel()
	const root = "../../.."
	check.OK(t, check.DependOnSources(root))
	files := token.NewFileSet()
	texts := 0
	check.OK(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && path != root || d.Name() == "testdata" || d.Name() == "testkit" || d.Name() == "e2e"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			texts++
			for _, m := range isNo.FindAllStringSubmatch(lit.Value, -1) {
				if m[1] == "" && m[2] != "longer" {
					t.Errorf("%s: a text says %q; say \"is not a\"", files.Position(lit.Pos()), m[0])
				}
			}
			return true
		})
		return nil
	}))
	if texts < 1000 {
		t.Errorf("only %d texts were read", texts)
	}
}
