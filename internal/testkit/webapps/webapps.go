// Package webapps has web apps for an observer to watch: some with flaws that can be switched on and off while they
// run, and some of other people, in pinned versions. Those for Node.js run on a Node.js of their own.
package webapps

import (
	"embed"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/npm"
)

// require makes what an app needs and is not there a failure when it is 1.
const require = "BARECLAW_REQUIRE_WEBAPPS"

//go:embed testdata/npm testdata/express testdata/flask
var files embed.FS

// An App is how a web app is started, which listens on the port that PORT names.
type App struct {
	T       testing.TB
	Dir     string   // where it runs
	Command []string // the program and its arguments
	Env     []string // what it needs beside PATH and HOME
}

// Modules returns the node_modules directory of the apps for Node.js.
func Modules(t testing.TB) string {
	t.Helper()
	packages, err := fs.Sub(files, "testdata/npm")
	check.OK(t, err)
	return npm.Modules(t, "web-apps", packages, require)
}

// Flaws says which flaws the app has from now on, and no others.
func (a *App) Flaws(names ...string) {
	a.T.Helper()
	path := filepath.Join(a.Dir, "flaws")
	check.OK(a.T, os.WriteFile(path+".new", []byte(strings.Join(names, "\n")), 0o600))
	check.OK(a.T, os.Rename(path+".new", path))
}

// newApp returns an app without flaws, in an empty directory.
func newApp(t testing.TB, name string) *App {
	t.Helper()
	a := &App{
		T:   t,
		Dir: filepath.Join(t.TempDir(), name),
	}
	check.OK(t, os.Mkdir(a.Dir, 0o755))
	a.Flaws()
	a.Env = append(a.Env, "FLAWS="+filepath.Join(a.Dir, "flaws"))
	return a
}

// newScript returns an app without flaws, whose files are those of a directory below testdata.
func newScript(t testing.TB, name string) *App {
	t.Helper()
	a := newApp(t, name)
	from, err := fs.Sub(files, "testdata/"+name)
	check.OK(t, err)
	check.OK(t, os.CopyFS(a.Dir, from))
	return a
}

// Express returns an app in Express on PostgreSQL, with OpenTelemetry installed beside it, and a flaw by
// the name of each rule. It is started again when it ends well, as it does after GET /healthz with the flaw end.
func Express(t testing.TB) *App {
	t.Helper()
	modules := Modules(t)
	a := newScript(t, "express")
	check.OK(t, os.Symlink(modules, filepath.Join(a.Dir, "node_modules")))
	a.Env = append(a.Env, "PGHOST="+postgres(t))
	a.Command = untilFailure(npm.Node(modules), "app.js")
	return a
}

// python is the interpreter for which Debian packages modules.
const python = "/usr/bin/python3"

// Flask returns an app in Flask, with flaws by the names of some rules, which tells of itself as brakit's SDK does.
func Flask(t testing.TB) *App {
	t.Helper()
	if out, err := exec.Command(python, "-c", "import flask").CombinedOutput(); err != nil {
		unavailable(t, "Flask: install the package python3-flask: %s", out)
	}
	a := newScript(t, "flask")
	a.Command = []string{python, "app.py"}
	return a
}

// unavailable says that something is missing, which is a failure where it is required.
func unavailable(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv(require) == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf("tests SKIPPED that need "+format, args...)
}

// othersProgram returns an app of others for Node.js, in an empty directory.
func othersProgram(t testing.TB, name, program string, args ...string) *App {
	t.Helper()
	modules := Modules(t)
	a := &App{
		T:   t,
		Dir: filepath.Join(t.TempDir(), name),
	}
	check.OK(t, os.Mkdir(a.Dir, 0o755))
	a.Command = append([]string{npm.Node(modules), filepath.Join(modules, program)}, args...)
	return a
}

// HTTPServer returns http-server, which serves the files of the app's directory.
func HTTPServer(t testing.TB) *App {
	t.Helper()
	a := othersProgram(t, "http-server", "http-server/bin/http-server")
	a.Write("index.html", "<!doctype html><title>Notes</title><p>No notes yet.</p>")
	a.Write("notes/first.txt", "The first note.")
	return a
}

// JSONServer returns json-server with some posts, which listens on a port.
func JSONServer(t testing.TB) *App {
	t.Helper()
	a := othersProgram(t, "json-server", "json-server/lib/cli/bin.js", "--host", "127.0.0.1", "db.json")
	a.Write("db.json", `{"posts":[{"id":1,"title":"A title","author":"Ann"}],"comments":[{"id":1,"body":"A comment","postId":1}]}`)
	a.Command = []string{"sh", "-c", `exec "$0" "$@" --port "$PORT"`, a.Command[0], a.Command[1], "--host", "127.0.0.1", "db.json"}
	return a
}

// Verdaccio returns the npm registry verdaccio without an uplink.
func Verdaccio(t testing.TB) *App {
	t.Helper()
	a := othersProgram(t, "verdaccio", "verdaccio/bin/verdaccio")
	a.Write("config.yaml", `
storage: ./storage
auth:
  htpasswd:
    file: ./htpasswd
uplinks: {}
packages:
  '**':
    access: $all
    publish: $authenticated
log: { type: stdout, format: pretty, level: http }
`)
	a.Command = []string{"sh", "-c", `exec "$0" "$1" --config config.yaml --listen "127.0.0.1:$PORT"`, a.Command[0], a.Command[1]}
	return a
}

// Generated returns what express-generator makes, which runs on the Express that is installed here.
func Generated(t testing.TB) *App {
	t.Helper()
	a := othersProgram(t, "generated", "express-generator/bin/express-cli.js", "--no-view", "--force", ".")
	generate := exec.Command(a.Command[0], a.Command[1:]...)
	generate.Dir = a.Dir
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("express-generator: %v: %s", err, out)
	}
	check.OK(t, os.Symlink(Modules(t), filepath.Join(a.Dir, "node_modules")))
	a.Command = []string{a.Command[0], "bin/www"}
	return a
}

// Write writes a file below the app's directory.
func (a *App) Write(name, text string) {
	a.T.Helper()
	path := filepath.Join(a.Dir, name)
	check.OK(a.T, os.MkdirAll(filepath.Dir(path), 0o755))
	check.OK(a.T, os.WriteFile(path, []byte(text), 0o600))
}
