package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// TestRenamesLeadSomewhere looks for each new name in the tables of renames: a file, a directory, or
// a declaration, as package.Name, Type.Member or Name.
func TestRenamesLeadSomewhere(t *testing.T) {
	t.Parallel()
	declared, paths := map[string]bool{}, []string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" { // a file in a further worktree
			return fs.SkipDir
		}
		paths = append(paths, filepath.ToSlash(path))
		if strings.HasSuffix(path, ".go") {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			addDeclared(declared, file)
		}
		return nil
	})
	check.OK(t, err)
	leads := func(name string) bool {
		if strings.ContainsRune(name, '/') || regexp.MustCompile(`\.(go|md)$`).MatchString(name) {
			return slices.ContainsFunc(paths, func(p string) bool { return strings.HasSuffix(p, "/"+name) })
		}
		return declared[name]
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
	if names < 15 {
		t.Errorf("only %d names were found", names)
	}
	for _, absent := range []string{"WalkDir", "docs/none.md"} { // a word of the sources, and no declaration
		if leads(absent) {
			t.Errorf("%q is found", absent)
		}
	}
}

// addDeclared adds what a file declares at its top level, with the methods and fields of types.
func addDeclared(to map[string]bool, file *ast.File) {
	add := func(names ...string) {
		whole := strings.Join(names, ".")
		to[whole], to[file.Name.Name+"."+whole] = true, true
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name.Name)
				continue
			}
			receiver := d.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			if generic, ok := receiver.(*ast.IndexExpr); ok {
				receiver = generic.X
			}
			if named, ok := receiver.(*ast.Ident); ok {
				add(named.Name, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range s.Names {
						add(name.Name)
					}
				case *ast.TypeSpec:
					add(s.Name.Name)
					for _, member := range members(s.Type) {
						add(s.Name.Name, member)
					}
				}
			}
		}
	}
}

// members returns the fields of a struct and the methods of an interface.
func members(of ast.Expr) (names []string) {
	var fields *ast.FieldList
	switch t := of.(type) {
	case *ast.StructType:
		fields = t.Fields
	case *ast.InterfaceType:
		fields = t.Methods
	default:
		return nil
	}
	for _, f := range fields.List {
		for _, name := range f.Names {
			names = append(names, name.Name)
		}
	}
	return names
}
