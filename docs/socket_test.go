package docs

import (
	"go/ast"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// socketRefusals returns the operations whose handlers refuse something on the Unix socket, as
// the routes of the HTTP adapter name them.
func socketRefusals(t *testing.T) []string {
	t.Helper()
	paths := constants(t, "api.go")
	refusing, routes := map[string]bool{}, map[string]string{}
	for _, f := range sources(t, "adapters/httpapi") {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := fn.Name.Name
			if fn.Recv != nil {
				receiver := fn.Recv.List[0].Type
				if star, ok := receiver.(*ast.StarExpr); ok {
					receiver = star.X
				}
				name = typeName(receiver) + "." + name
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if e, ok := n.(*ast.SelectorExpr); ok && e.Sel.Name == "NotOnSocket" && fn.Recv != nil {
					refusing[name] = true
				}
				lit, ok := n.(*ast.CompositeLit)
				if !ok || len(lit.Elts) != 3 {
					return true
				}
				method, isMethod := strings.CutPrefix(typeName(lit.Elts[0]), "Method")
				if !isMethod {
					return true
				}
				path := paths[typeName(lit.Elts[1])]
				if text, ok := lit.Elts[1].(*ast.BasicLit); ok {
					path = strings.Trim(text.Value, `"`)
				}
				function, overTCP := lit.Elts[2], false
				for call, ok := function.(*ast.CallExpr); ok; call, ok = function.(*ast.CallExpr) {
					overTCP = overTCP || typeName(call.Fun) == "overTCP"
					function = call.Args[0] // a handler wrapped in checks
				}
				handler, ok := function.(*ast.SelectorExpr) // of a variable with the name of its type
				if !ok {
					return true
				}
				of := typeName(handler.X) + "." + handler.Sel.Name
				if overTCP {
					refusing[of] = true
				}
				routes[of] = strings.ToUpper(method) + " " + path
				return true
			})
		}
	}
	var all []string
	for name := range maps.Keys(refusing) {
		if routes[name] == "" {
			t.Fatalf("%s refuses something on the socket and is no handler of a route", name)
		}
		all = append(all, routes[name])
	}
	slices.Sort(all)
	return all
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
		if !slices.Equal(got, want) {
			t.Errorf("%s: the Unix socket refuses %q, the code %q", where, got, want)
		}
	}
}
