package docs

import (
	"go/ast"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bareclaw/adapters/httpapi/api"
)

// socketRefusals returns the operations that refuse something on the Unix socket, as the table of
// routes of the HTTP adapter says.
func socketRefusals(t *testing.T) (all []string) {
	t.Helper()
	paths := constants(t, "api.go")
	for _, f := range sources(t, "adapters/httpapi") {
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || len(lit.Elts) != 4 || !slices.Contains([]string{"socketLimits", "socketRefuses"}, typeName(lit.Elts[2])) {
				return true
			}
			if method := strings.TrimPrefix(typeName(lit.Elts[0]), "Method"); method != "" { // else it is that of a mount
				all = append(all, strings.ToUpper(method)+" "+pathOf(t, paths, lit.Elts[1]))
			}
			return true
		})
	}
	for _, rt := range slices.Concat(api.MCPRoutes(), api.ToolHostRoutes()) {
		if rt.ChangesAll {
			all = append(all, rt.Method+" "+rt.Pattern)
		}
	}
	slices.Sort(all)
	return all
}

// pathOf returns the value of an expression of constants and string literals.
func pathOf(t *testing.T, constants map[string]string, e ast.Expr) string {
	t.Helper()
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return pathOf(t, constants, e.X) + pathOf(t, constants, e.Y)
	case *ast.BasicLit:
		return strings.Trim(e.Value, `"`)
	}
	return constants[typeName(e)]
}

// TestDocumentsListWhatTheSocketRefuses holds the lists of docs/http.md, of the description of
// openapi.yaml and of its answers to the code.
func TestDocumentsListWhatTheSocketRefuses(t *testing.T) {
	t.Parallel()
	want := socketRefusals(t)
	if len(want) < 3 {
		t.Fatalf("the code refuses only %q", want)
	}
	doc := openAPIDocument(t)
	var answers []string
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if strings.Contains(*op.Responses.Value("403").Value.Description, "`not_on_socket`") {
				answers = append(answers, method+" "+path)
			}
		}
	}
	slices.Sort(answers)
	if !slices.Equal(answers, want) {
		t.Errorf("openapi.yaml has not_on_socket for %q, the code refuses %q", answers, want)
	}
	for where, text := range map[string]string{
		"openapi.yaml": doc.Info.Description, "docs/http.md": read(t, filepath.Join(root, "docs/http.md")),
	} {
		list := regexp.MustCompile(`(?s)Unix\s+socket[^.]*?refuses(.*?)\.\s`).FindStringSubmatch(text)
		if list == nil {
			t.Errorf("%s does not say what the Unix socket refuses", where)
			continue
		}
		var got []string
		for _, m := range regexp.MustCompile("`([A-Z]+)\\s+(/[^`]*)`").FindAllStringSubmatch(list[1], -1) {
			got = append(got, m[1]+" "+m[2])
		}
		slices.Sort(got)
		got = slices.Compact(got) // one can be refused for two reasons
		if !slices.Equal(got, want) {
			t.Errorf("%s: the Unix socket refuses %q, the code %q", where, got, want)
		}
	}
}
