package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// TestImports checks the project as it is.
func TestImports(t *testing.T) {
	t.Parallel()
	for _, goos := range []string{"linux", "darwin"} {
		t.Run(goos, func(t *testing.T) {
			t.Parallel()
			graph := load(t, goos)
			if !slices.ContainsFunc(graph, func(p Package) bool { return p.ImportPath == module+"/internal/testkit/archtest" }) {
				t.Fatalf("the graph of %d packages does not even hold this one", len(graph))
			}
			for _, v := range Check(graph) {
				t.Error(v)
			}
		})
	}
}

// TestPackagesHaveRows holds that the rooms of many packages have a row for each of them.
func TestPackagesHaveRows(t *testing.T) {
	t.Parallel()
	for _, p := range load(t, "linux") {
		rel := strings.TrimPrefix(p.ImportPath, module+"/")
		for _, room := range []string{"core", "adapters/telegram", "internal/cli"} {
			if !within(rel, room) || testTool(p.ImportPath) {
				continue
			}
			if r, _ := roomOf(p.ImportPath); r.path != rel {
				t.Errorf("%s has no row of its own", rel)
			}
		}
	}
}

// load asks the go command for our packages as they are built for goos.
func load(t *testing.T, goos string) []Package {
	t.Helper()
	const root = "../../.."
	check.OK(t, check.DependOnSources(root))
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var graph []Package
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p Package
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return graph
		}
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		graph = append(graph, p)
	}
}

// TestCheck holds that each kind of rule is applied: arrows between rooms and leaves, bans,
// what only tests may contain, and a room for each package.
func TestCheck(t *testing.T) {
	t.Parallel()
	imports := func(from string, paths ...string) Package { return Package{ImportPath: module + from, Imports: paths} }
	program := []string{module + "/core", "testing/synctest", "testingx", module + "/internal/testkit/fakeclaude", "github.com/getkin/kin-openapi/openapi3"}
	for _, row := range []struct {
		p   Package
		bad []string
	}{
		{imports("/adapters/httpapi", module+"/core", module+"/internal/peercred", module+"/adapters/telegram", module+"/core/ledger/sqlite", module+"/mcp", module),
			[]string{module + "/adapters/telegram", module + "/core/ledger/sqlite", module + "/mcp", module}},
		{imports("/adapters/telegram/outbox", module+"/adapters/telegram/throttle"), nil},
		{imports("/adapters/telegram/markdown", module+"/adapters/telegram/throttle"), []string{module + "/adapters/telegram/throttle"}},
		{imports("/internal/cli/chat", module+"/internal/cli/doctor"), []string{module + "/internal/cli/doctor"}},
		{imports("/internal/proc", module+"/internal/lockfile", module+"/core"), []string{module + "/core"}},
		{imports("/core", "context", "net", "net/netip", "os/exec", module+"/internal/wait"), []string{module + "/internal/wait", "net", "os/exec"}},
		{imports("/internal/bench", module+"/adapters/httpapi", module), nil},
		{Package{ImportPath: module, Deps: program}, []string{program[1], program[3], program[4]}},
		{Package{ImportPath: module + "/core", Deps: program}, nil}, // what reaches the program shows there
		{imports("/corelike"), []string{""}},
		{imports("/internal/attic"), []string{""}},
	} {
		var got []string
		for _, v := range Check([]Package{row.p}) {
			got = append(got, v.Import)
			if v.Rule == "" || !strings.Contains(v.String(), row.p.ImportPath+" imports "+v.Import+": ") {
				t.Errorf("%q does not name package, import and rule", v)
			}
		}
		if !slices.Equal(got, row.bad) {
			t.Errorf("%s importing %q: violations of %q, want %q", row.p.ImportPath, row.p.Imports, got, row.bad)
		}
	}
}
