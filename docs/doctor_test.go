package docs

import (
	"go/ast"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bareclaw/adapters/kinds"
	"bareclaw/internal/cli/doctor"
)

// findings returns the codes of what doctor may find, with their level.
func findings(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	files := sources(t, "internal/cli/doctor")
	for _, k := range kinds.All() {
		found[k.Name+"_off"] = "warning" // named by the kind of channels
		files = append(files, sources(t, "adapters/"+k.Name)...)
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, isCall := n.(*ast.CallExpr)
			if !isCall || len(call.Args) != 4 {
				return true
			}
			level := strings.ToLower(typeName(call.Fun))
			if code, isWord := word(call.Args[0]); isWord && slices.Contains([]string{"note", "warning", "problem"}, level) {
				found[code] = level
			}
			return true
		})
	}
	// Named by a variable, for two directories.
	found["state_open"], found["runtime_open"] = "problem", "problem"
	return found
}

// TestFindingsOfDoctorAreDocumented holds the table of doctor.md to the code: each
// finding has its row, with its check and its level, in the order of the checks.
func TestFindingsOfDoctorAreDocumented(t *testing.T) {
	t.Parallel()
	text := read(t, filepath.Join(root, "docs/doctor.md"))
	documented := map[string]string{}
	var checks []string
	for _, m := range regexp.MustCompile("(?m)^\\| ([a-z]*) ?\\| (problem|warning|note) \\| `([a-z_]+)` \\|").FindAllStringSubmatch(text, -1) {
		if m[1] != "" {
			checks = append(checks, m[1])
		}
		documented[m[3]] = m[2]
	}
	if want := findings(t); !maps.Equal(documented, want) {
		for code, level := range want {
			if documented[code] != level {
				t.Errorf("doctor.md says that %s is a %q, and the code a %s", code, documented[code], level)
			}
		}
		for code := range documented {
			if want[code] == "" {
				t.Errorf("doctor.md knows the finding %s, which there is not", code)
			}
		}
	}
	if want := append(doctor.Names(), "any"); !slices.Equal(checks, want) {
		t.Errorf("doctor.md lists the checks %q, want %q", checks, want)
	}
}

// TestFindingsOfDoctorAreProvoked looks whether each finding is wanted by a test: whether
// its code is in a call of tells, in a table of such calls, or in a list that is gone
// through by them.
func TestFindingsOfDoctorAreProvoked(t *testing.T) {
	t.Parallel()
	tests, err := filepath.Glob(filepath.Join(root, "internal/e2e/setup/doctor*_test.go"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("no tests of doctor: %v", err)
	}
	all := read(t, filepath.Join(root, "internal/cli/doctor/doctor_test.go"))
	for _, file := range tests {
		all += read(t, file)
	}
	all = silent.ReplaceAllString(all, "") // which wants that there is none
	for code := range findings(t) {
		if !strings.Contains(all, `"`+code+`"`) {
			t.Errorf("no test provokes the finding %s", code)
		}
	}
}

// silent matches calls by which a test wants that something is not found.
var silent = regexp.MustCompile(`silent\([^)]*\)`)
