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
			if !slices.ContainsFunc(graph, func(p Package) bool { return p.ImportPath == module+"/internal/testkit/archtest" }) {
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
	cmd.Dir = "../../.."
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
		{from: "", to: []string{"/internal/daemon", "/internal/cli", "/internal/echoagent", "/core", "/adapters/httpapi"}, bad: []string{"/core", "/adapters/httpapi"}},
		{from: "/internal/daemon", to: []string{"/adapters/httpapi", "/core/ledger", "/internal/proc", "/internal/testkit/fakeclaude", "/contrib", ""}, bad: []string{"/internal/testkit/fakeclaude", "/contrib", ""}},
		{from: "/internal/cli/chat", to: []string{"/internal/cli", "/adapters/httpapi/client", "/internal/daemon", "/adapters/telegram"}, bad: []string{"/internal/daemon", "/adapters/telegram"}},
		{from: "/adapters/httpapi", to: []string{"/core", "/internal/peercred", "/docs"}},
		{from: "/adapters/httpapi", to: []string{"/adapters/telegram", "/sessionhost", "/sessionhost/claude", "/core/ledger", "/mcp", ""}, bad: []string{"/adapters/telegram", "/sessionhost", "/sessionhost/claude", "/core/ledger", "/mcp", ""}},
		{from: "/adapters/httpapi/client", to: []string{"/core/config", "/adapters/httpapi"}, bad: []string{"/adapters/httpapi"}},
		{from: "/adapters/telegram/markdown", to: []string{"/adapters/telegram/throttle", "/core"}},
		{from: "/heartbeat", to: []string{"/adapters/httpapi/client", "/heartbeat/service", "/adapters/httpapi"}, bad: []string{"/adapters/httpapi"}},
		{from: "/sessionhost", to: []string{"/sessionhost/protocol", "/sessionhost/claude", "/sessionhost/host", "/core", "/internal/proc", "/core/ledger", "/core/config"}, bad: []string{"/sessionhost/host", "/core/ledger", "/core/config"}},
		{from: "/sessionhost/claude", to: []string{"/core", "/sessionhost"}, bad: []string{"/sessionhost"}},
		{from: "/sessionhost/host", to: []string{"/sessionhost/protocol", "/sessionhost/claude", "/sessionhost", "/core", "/core/ledger"}, bad: []string{"/sessionhost", "/core/ledger"}},
		{from: "/sessionhost/protocol", to: []string{"/sessionhost/host", "/sessionhost"}, bad: []string{"/sessionhost/host", "/sessionhost"}},
		{from: "/core", to: []string{"/core/ledger", "/core/config", "/sessionhost", "/adapters/httpapi"}, bad: []string{"/core/ledger", "/core/config", "/sessionhost", "/adapters/httpapi"}},
		{from: "/core/ledger", to: []string{"/core", "/internal/proc", "/core/config", "/sessionhost"}, bad: []string{"/core/config", "/sessionhost"}},
		{from: "/core/config", to: []string{"/core"}, bad: []string{"/core"}},
		{from: "/internal/proc", to: []string{"/internal/lockfile", "/core", "/internal/cli"}, bad: []string{"/core", "/internal/cli"}},
		{from: "/internal/bench", to: []string{"", "/core", "/adapters/httpapi"}},
		{from: "/internal/e2e/telegram", to: []string{"/internal/daemon", "/core"}},
		{from: "/contrib", to: []string{"/core"}, bad: []string{"/core"}},
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
		{"/core/config", []string{"github.com/joho/godotenv"}, nil},
		{"/sessionhost", []string{"net", "os/exec", "net/http"}, []string{"net/http"}},
		{"/sessionhost/claude", []string{"github.com/joho/godotenv"}, []string{"github.com/joho/godotenv"}},
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
		module + "/core", module + "/internal/proc", "net/http", "testing/synctest", "testingx",
		module + "/internal/testkit/fakeclaude", "github.com/getkin/kin-openapi/openapi3", "github.com/rogpeppe/go-internal/testscript",
	}
	want := []string{"testing/synctest", module + "/internal/testkit/fakeclaude", "github.com/getkin/kin-openapi/openapi3", "github.com/rogpeppe/go-internal/testscript"}
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

// TestCheckRoom names a package that is in no room.
func TestCheckRoom(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/attic", "/corelike", "/internal/attic"} {
		if v := Check([]Package{{ImportPath: module + path}}); len(v) != 1 || v[0].Package != module+path {
			t.Errorf("%s: %v", path, v)
		}
	}
}
