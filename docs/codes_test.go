package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// sources parses the Go files of a directory, but for its tests.
func sources(t *testing.T, dir string) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	check.OK(t, err)
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		check.OK(t, err)
		files = append(files, f)
	}
	if len(files) == 0 {
		t.Fatalf("no Go files in %s", dir)
	}
	return files
}

// word returns the value of a string literal that could be a code.
func word(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil && regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`).MatchString(s)
}

// constants returns the string constants of a file of package api by their names.
func constants(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "adapters/httpapi/api", file), nil, parser.SkipObjectResolution)
	check.OK(t, err)
	values := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				values[spec.Names[0].Name] = strings.Trim(lit.Value, `"`)
			}
		}
		return true
	})
	if len(values) == 0 {
		t.Fatalf("no constants in %s", file)
	}
	return values
}

// refusals returns the codes of the errors that the HTTP adapter answers with.
func refusals(t *testing.T) map[string]bool {
	t.Helper()
	codes := map[string]bool{}
	for _, code := range constants(t, "codes.go") {
		codes[code] = true
	}
	return codes
}

// TestErrorCodesAreDocumented holds the codes of error replies to openapi.yaml,
// both ways.
func TestErrorCodesAreDocumented(t *testing.T) {
	t.Parallel()
	doc := openAPIDocument(t)
	inCode := refusals(t)
	quoted := regexp.MustCompile("`([a-z]+(?:_[a-z]+)*)`")
	words := map[string]bool{}
	for _, m := range quoted.FindAllStringSubmatch(doc.Info.Description, -1) {
		words[m[1]] = true
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status, response := range op.Responses.Map() {
				if status < "400" {
					continue
				}
				for _, m := range quoted.FindAllStringSubmatch(*response.Value.Description, -1) {
					words[m[1]] = true
					if !inCode[m[1]] {
						t.Errorf("%s %s: %s is documented with code %s, which no code gives", method, path, status, m[1])
					}
				}
			}
		}
	}
	for _, code := range slices.Sorted(maps.Keys(inCode)) {
		if !words[code] {
			t.Errorf("code %s is not in openapi.yaml", code)
		}
	}
}

// outcomes returns the codes that an accepted message can end with: constants
// named Code… of core and claude, and the codes of errors made on the spot.
func outcomes(t *testing.T) map[string]bool {
	t.Helper()
	codes := map[string]bool{}
	note := func(e ast.Expr) {
		if code, ok := word(e); ok {
			codes[code] = true
		}
	}
	inspect := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			if strings.HasPrefix(n.Names[0].Name, "Code") && len(n.Values) == 1 {
				note(n.Values[0])
			}
		case *ast.CompositeLit:
			if typeName(n.Type) != "AgentError" && typeName(n.Type) != "Reply" {
				return true
			}
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok && typeName(kv.Key) == "Code" {
					note(kv.Value)
				}
			}
		}
		return true
	}
	for _, dir := range []string{"internal/daemon", "core", "core/lanes", "sessionhost/claude", "sessionhost"} {
		for _, f := range sources(t, dir) {
			ast.Inspect(f, inspect)
		}
	}
	return codes
}

// typeName returns the last part of a name, "" for anything else.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// TestOutcomesAreDocumented holds the table of codes in docs/http.md to the code.
func TestOutcomesAreDocumented(t *testing.T) {
	t.Parallel()
	got := slices.Sorted(slices.Values(firstCells(rows(t, "docs/http.md", "| code | the turn |"))))
	if want := slices.Sorted(maps.Keys(outcomes(t))); !slices.Equal(got, want) {
		t.Errorf("the documented outcomes are\n%v, want\n%v", got, want)
	}
}
