// Package webapps has web apps for an observer to watch: some with flaws that can be switched on and off while they
// run, and some of other people, in pinned versions. Those for Node.js run on a Node.js of their own.
package webapps

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/npm"
)

// require makes what an app needs and is not there a failure when it is 1.
const require = "BARECLAW_REQUIRE_WEBAPPS"

//go:embed testdata/npm testdata/express
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

// newApp returns an app without flaws, whose files are those of a directory below testdata.
func newApp(t testing.TB, name string) *App {
	t.Helper()
	a := &App{
		T:   t,
		Dir: filepath.Join(t.TempDir(), name),
	}
	from, err := fs.Sub(files, "testdata/"+name)
	check.OK(t, err)
	check.OK(t, os.CopyFS(a.Dir, from))
	a.Flaws()
	a.Env = append(a.Env, "FLAWS="+filepath.Join(a.Dir, "flaws"))
	return a
}

// Express returns an app in Express on PostgreSQL, with OpenTelemetry installed beside it, and a flaw by
// the name of each rule. It is started again when it ends well, as it does after GET /healthz with the flaw end.
func Express(t testing.TB) *App {
	t.Helper()
	modules := Modules(t)
	a := newApp(t, "express")
	check.OK(t, os.Symlink(modules, filepath.Join(a.Dir, "node_modules")))
	a.Env = append(a.Env, "PGHOST="+postgres(t))
	a.Command = []string{"sh", "-c", `trap 'kill -9 "$!"; exit' INT TERM; while "$0" app.js & wait "$!"; do :; done`, npm.Node(modules)}
	return a
}
