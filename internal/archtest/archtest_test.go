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
)

// TestImports checks the project as it is.
func TestImports(t *testing.T) {
	t.Parallel()
	for _, goos := range []string{"linux", "darwin"} {
		t.Run(goos, func(t *testing.T) {
			t.Parallel()
			graph := load(t, goos)
			if !slices.ContainsFunc(graph, func(p Package) bool { return p.ImportPath == module+"/internal/archtest" }) {
				t.Fatalf("the graph of %d packages does not even hold this one", len(graph))
			}
			for _, v := range Check(graph) {
				t.Error(v)
			}
		})
	}
}

// load asks the go command for our packages as they are built for goos.
func load(t *testing.T, goos string) []Package {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = "../.."
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

func TestCheck(t *testing.T) {
	t.Parallel()
	rows := []struct {
		from string
		to   []string
		bad  []string // those of to that break a rule
	}{
		{from: "", to: []string{"/adapters/httpapi", "/core", "/core/config", "/core/ledger", "/claude", "/sessionhost", "/internal/procs", "/internal/echoagent", "/docs"}},
		{from: "", to: []string{"/internal/fakeclaude", "/contrib", "/internal/bench/load"}, bad: []string{"/contrib"}},
		{from: "/adapters/httpapi", to: []string{"/core", "/internal/peercred", "/docs"}},
		{from: "/adapters/httpapi", to: []string{"/adapters/telegram", "/sessionhost", "/claude", "/core/ledger", "/mcp", ""}, bad: []string{"/adapters/telegram", "/sessionhost", "/claude", "/core/ledger", "/mcp", ""}},
		{from: "/heartbeat", to: []string{"/client", "/adapters/httpapi"}, bad: []string{"/adapters/httpapi"}},
		{from: "/mcp", to: []string{"/core", "/claude", "/toolhost"}, bad: []string{"/toolhost"}},
		{from: "/toolhost", to: []string{"/toolhost/builtin", "/core", "/mcp"}, bad: []string{"/mcp"}},
		{from: "/sessionhost", to: []string{"/claude", "/core", "/internal/procs", "/core/ledger", "/core/config"}, bad: []string{"/core/ledger", "/core/config"}},
		{from: "/core", to: []string{"/internal/ndjson"}},
		{from: "/core", to: []string{"/core/ledger", "/core/config", "/claude", "/sessionhost", "/adapters/httpapi"}, bad: []string{"/core/ledger", "/core/config", "/claude", "/sessionhost", "/adapters/httpapi"}},
		{from: "/core/ledger", to: []string{"/core", "/internal/procs", "/core/config", "/sessionhost"}, bad: []string{"/core/config", "/sessionhost"}},
		{from: "/core/config", to: []string{"/core"}, bad: []string{"/core"}},
		{from: "/claude", to: []string{"/internal/ndjson", "/core", "/sessionhost"}, bad: []string{"/core", "/sessionhost"}},
		{from: "/internal/procs", to: []string{"/internal/ndjson", "/core", "/claude"}, bad: []string{"/core", "/claude"}},
		{from: "/internal/bench", to: []string{"", "/core", "/adapters/httpapi"}},
		{from: "/contrib", to: []string{"/core"}, bad: []string{"/core"}},
		{from: "/attic", to: []string{"/core"}, bad: []string{"/core"}},
		{from: "/corelike", to: []string{"/internal/procs"}, bad: []string{"/internal/procs"}},
	}
	for _, row := range rows {
		p := Package{ImportPath: module + row.from}
		for _, to := range row.to {
			p.Imports = append(p.Imports, module+to)
		}
		var got, want []string
		for _, v := range Check([]Package{p}) {
			got = append(got, v.Import)
			if v.Package != p.ImportPath || v.Rule == "" || !strings.Contains(v.String(), v.Package+" imports "+v.Import+": ") {
				t.Errorf("%s: %q does not name package, import and rule", p.ImportPath, v)
			}
		}
		for _, bad := range row.bad {
			want = append(want, module+bad)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s importing %q: violations of %q, want %q", p.ImportPath, row.to, got, want)
		}
	}
}

func TestCheckOutside(t *testing.T) {
	t.Parallel()
	rows := []struct {
		from    string
		imports []string
		bad     []string
	}{
		{"/core", []string{"context", "net", "net/http", "net/netip", "os/exec", "database/sql"}, []string{"net", "net/http", "os/exec", "database/sql"}},
		{"/core/ledger", []string{"database/sql", "modernc.org/sqlite"}, nil},
		{"/core/config", []string{"github.com/kelseyhightower/envconfig", "github.com/joho/godotenv"}, nil},
		{"/sessionhost", []string{"net", "os/exec", "net/http"}, []string{"net/http"}},
		{"/claude", []string{"github.com/kelseyhightower/envconfig"}, []string{"github.com/kelseyhightower/envconfig"}},
	}
	for _, row := range rows {
		var got []string
		for _, v := range Check([]Package{{ImportPath: module + row.from, Imports: row.imports}}) {
			got = append(got, v.Import)
		}
		if !slices.Equal(got, row.bad) {
			t.Errorf("%s importing %q: violations of %q, want %q", row.from, row.imports, got, row.bad)
		}
	}
}

func TestCheckProgram(t *testing.T) {
	t.Parallel()
	deps := []string{
		module + "/core", module + "/internal/procs", "net/http", "testing/synctest", "testingx",
		module + "/internal/fakeclaude", "github.com/getkin/kin-openapi/openapi3", "github.com/rogpeppe/go-internal/testscript",
	}
	want := []string{"testing/synctest", module + "/internal/fakeclaude", "github.com/getkin/kin-openapi/openapi3", "github.com/rogpeppe/go-internal/testscript"}
	var got []string
	for _, v := range Check([]Package{{ImportPath: module, Deps: deps}}) {
		got = append(got, v.Import)
	}
	if !slices.Equal(got, want) {
		t.Errorf("violations of %q, want %q", got, want)
	}
	// The same in a room's package is none: its tests are not in Deps, and
	// what reaches the program shows there.
	if v := Check([]Package{{ImportPath: module + "/core", Deps: deps}}); v != nil {
		t.Errorf("violations %v outside the program", v)
	}
}
