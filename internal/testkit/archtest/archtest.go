// Package archtest holds the project to its architecture: which room may import which.
// Its test reads the real import graph, on every platform that the program is built for,
// and fails with the import that breaks a rule and the rule.
//
// Rules are about what is built into the program. A package's tests may import any
// package, except that an import cycle never compiles.
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

// Check returns every violation in the graph of the project's own packages, in its order.
func Check(graph []Package) []Violation {
	var out []Violation
	for _, p := range graph {
		if testTool(p.ImportPath) {
			continue
		}
		r, ok := roomOf(p.ImportPath)
		if !ok {
			out = append(out, Violation{p.ImportPath, "", "the package is in no room; give it one in archtest"})
			continue
		}
		out = append(out, checkArrows(p, r)...)
		out = append(out, checkBans(p, r)...)
		if p.ImportPath == module {
			out = append(out, checkProgram(p)...)
		}
	}
	return out
}

// roomOf returns the room with the longest path that the package is in.
func roomOf(importPath string) (found room, ok bool) {
	rel := strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
	for _, r := range rooms() {
		inside := r.path == rel || r.path != "" && within(rel, r.path)
		if inside && (!ok || len(r.path) > len(found.path)) {
			found, ok = r, true
		}
	}
	return found, ok
}

// checkArrows holds imports among the project's own packages to the rooms' arrows.
func checkArrows(p Package, from room) []Violation {
	var out []Violation
	for _, imp := range p.Imports {
		if !ours(imp) {
			continue
		}
		to, ok := roomOf(imp)
		leaf := to.isLeaf() && from.path != "core" // which imports nothing of ours
		if !ok || to.path != from.path && !leaf && !slices.Contains(from.uses, to.path) {
			out = append(out, Violation{p.ImportPath, imp, from.rule})
		}
	}
	return out
}

// checkBans holds a room to the outside packages that it must not import.
func checkBans(p Package, r room) []Violation {
	var out []Violation
	for _, b := range bans() {
		if !slices.Contains(b.rooms, r.path) {
			continue
		}
		for _, imp := range p.Imports {
			if slices.Contains(b.imports, imp) {
				out = append(out, Violation{p.ImportPath, imp, b.rule})
			}
		}
	}
	return out
}

// checkProgram holds the one binary, which is every session host too, to what it needs.
func checkProgram(p Package) []Violation {
	var out []Violation
	for _, dep := range p.Deps {
		if ours(dep) && testTool(dep) || slices.ContainsFunc(testOnly(), func(root string) bool { return within(dep, root) }) {
			out = append(out, Violation{p.ImportPath, dep, "it is for tests only and must not be built into the program"})
		}
	}
	return out
}

// testTool reports whether a package of the project only tests or measures.
func testTool(importPath string) bool {
	rel := strings.TrimPrefix(importPath, module+"/")
	return slices.ContainsFunc(testTools(), func(root string) bool { return within(rel, root) }) || within(rel, "docs/testdata")
}

func ours(path string) bool { return within(path, module) }

// within reports whether path is root or below it.
func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}
