// Package archtest holds the project to its architecture: which room may
// import which. Its test reads the real import graph, on every platform we
// build for, and fails with the import that breaks a rule and the rule.
//
// Rules are about what is built into the program. A package's tests may import
// what they like, except that an import cycle never compiles.
package archtest

import (
	"slices"
	"strings"
)

const module = "bareclaw"

// A Package is one node of the import graph, by import paths.
type Package struct {
	ImportPath string
	Imports    []string // direct imports, without those of tests
	Deps       []string // all imports, direct or not
}

// A Violation is an import that breaks a rule.
type Violation struct {
	Package string
	Import  string
	Rule    string
}

// String names the import first and the rule second.
func (v Violation) String() string { return v.Package + " imports " + v.Import + ": " + v.Rule }

// Check returns every violation in the graph of our own packages, in its
// order.
func Check(graph []Package) []Violation {
	var out []Violation
	for _, p := range graph {
		out = append(out, checkArrows(p)...)
		out = append(out, checkForbidden(p)...)
		if p.ImportPath == module {
			out = append(out, checkProgram(p)...)
		}
	}
	return out
}

// checkArrows holds imports among our own packages to the rooms' arrows.
func checkArrows(p Package) []Violation {
	var out []Violation
	from := roomOf(p.ImportPath)
	if testTool(p.ImportPath) {
		return nil
	}
	for _, imp := range p.Imports {
		if !ours(imp) {
			continue
		}
		to := roomOf(imp)
		switch {
		case !from.known():
			out = append(out, Violation{p.ImportPath, imp, "it is in no room of the house; give it one in archtest"})
		case to == from && from.siblings(p.ImportPath, imp):
		case !slices.Contains(from.mayImport(), to):
			out = append(out, Violation{p.ImportPath, imp, from.rule()})
		}
	}
	return out
}

// checkForbidden holds a package to the outside packages it must not know.
func checkForbidden(p Package) []Violation {
	var out []Violation
	for _, f := range forbidden() {
		if !slices.Contains(f.packages, p.ImportPath) {
			continue
		}
		for _, imp := range p.Imports {
			if slices.Contains(f.imports, imp) {
				out = append(out, Violation{p.ImportPath, imp, f.rule})
			}
		}
	}
	return out
}

// checkProgram holds the one binary, whose every dependency each session host
// carries too, to what it needs.
func checkProgram(p Package) []Violation {
	var out []Violation
	for _, dep := range p.Deps {
		if ours(dep) && testTool(dep) || slices.ContainsFunc(testOnly(), func(root string) bool { return within(dep, root) }) {
			out = append(out, Violation{p.ImportPath, dep, "it is for tests only and must not be built into the program"})
		}
	}
	return out
}

func ours(path string) bool { return within(path, module) }

// within reports whether path is root or below it.
func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}
