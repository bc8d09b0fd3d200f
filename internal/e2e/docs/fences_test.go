package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bareclaw/core/config"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
	"bareclaw/sessionhost/claude"
)

// commandRunners are the tests that run every command of a document which has no marker.
var commandRunners = map[string][]string{
	"README.md":         {"TestReadmeFirstRun", "TestReadmeCommands"},
	"docs/http.md":      {"TestReadmeCommands"},
	"docs/commands.md":  {"TestEverydayCommandsAsPrinted"},
	"docs/trouble.md":   {"TestEverydayCommandsAsPrinted"},
	"docs/heartbeat.md": {"TestEverydayCommandsAsPrinted"},
	"docs/telegram.md":  {"TestTelegramPage"},
}

// dataFences are the languages of blocks that nobody types into a shell.
var dataFences = []string{"json", "text", "http", "ini", "env", "go", "ts", "yaml"}

// shellLine finds a command in a block of data.
var shellLine = regexp.MustCompile(`(?m)^\s*(\$ )?(sudo |[A-Z_]+=\S+ )*(bareclaw|go|curl|make|systemctl|loginctl|launchctl|git|docker|podman) [^|]`)

// marker is the form of the comment before a block.
var marker = regexp.MustCompile(`^(?:tested by (Test\w+(?:, Test\w+)*)|not executed: \S+ \S+ \S.*)$`)

// checkFence returns what is wrong with a block of a document. tests has the file of each test.
func checkFence(file string, b harness.Fenced, tests map[string]string) (problems []string) {
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	form := marker.FindStringSubmatch(b.Marker)
	switch {
	case !b.IsCommand() && !slices.Contains(dataFences, b.Lang):
		wrong("its language is %q: commands are sh or bash, data is one of %v", b.Lang, dataFences)
	case !b.IsCommand():
		if line := shellLine.FindString(b.Text); line != "" && b.Lang != "go" {
			wrong("%q is a command in a block of the language %q", line, b.Lang)
		}
	case b.Marker == "":
		if commandRunners[file] == nil {
			wrong("nothing runs it: put <!-- tested by TestX --> or <!-- not executed: REASON --> in the line before it")
		}
	case form == nil:
		wrong(`its marker %q is neither "tested by TestX" nor "not executed:" with a reason of some words`, b.Marker)
	case form[1] != "":
		reads := false
		for name := range strings.SplitSeq(form[1], ", ") {
			source, err := os.ReadFile(tests[name])
			if err != nil {
				wrong("there is no %s", name)
			}
			reads = reads || strings.Contains(string(source), `"`+file+`"`)
		}
		if !reads {
			wrong("none of the tests in %q reads %s", b.Marker, file)
		}
	}
	return problems
}

// testFiles returns the file of every test function of the module.
func testFiles(t *testing.T) map[string]string {
	t.Helper()
	tests := map[string]string{}
	walk(t, "_test.go", func(path string) {
		f, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, parser.SkipObjectResolution)
		check.OK(t, err)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				tests[fn.Name.Name] = path
			}
		}
	})
	return tests
}

// walk calls f for every file of the module whose name ends so.
func walk(t *testing.T, suffix string, f func(path string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, suffix) {
			f(path)
		}
		return nil
	})
	check.OK(t, err)
}

// TestEveryFenceIsAccountedFor holds that each command of every document is run by a test, or
// says why it is not.
func TestEveryFenceIsAccountedFor(t *testing.T) {
	t.Parallel()
	tests := testFiles(t)
	for _, names := range commandRunners {
		for _, name := range names {
			if tests[name] == "" {
				t.Errorf("there is no %s", name)
			}
		}
	}
	documents, commands := 0, 0
	walk(t, ".md", func(file string) {
		documents++
		b, err := os.ReadFile(file)
		check.OK(t, err)
		text := string(b)
		all := harness.FencedIn(text)
		for _, b := range all {
			if b.IsCommand() {
				commands++
			}
			for _, problem := range checkFence(file, b, tests) {
				t.Errorf("%s: %s:\n%s", file, problem, b.Text)
			}
		}
		if n := len(regexp.MustCompile("(?m)^[ \t>]*(```|~~~)").FindAllString(text, -1)); n != 2*len(all) {
			t.Errorf("%s has %d lines that open or close a block, and %d blocks", file, n, len(all))
		}
		if n := len(regexp.MustCompile(`(?m)^<!-- *(tested|executed|not )`).FindAllString(text, -1)); n != len(slices.DeleteFunc(all, func(b harness.Fenced) bool { return b.Marker == "" })) {
			t.Errorf("%s has markers that stand before no block", file)
		}
	})
	if documents < 5 || commands < 30 {
		t.Errorf("%d documents with %d commands", documents, commands)
	}
}

// TestSettingsOfDocumentsAreRead reads the blocks of settings as the gateway does, and has the
// shell look at the command lines among them.
func TestSettingsOfDocumentsAreRead(t *testing.T) {
	t.Parallel()
	known := map[string]bool{claude.LoginVariable: true}
	for _, v := range config.Variables() {
		known[v.Name] = true
	}
	read := 0
	walk(t, ".md", func(file string) {
		for _, b := range harness.Blocks(t, file) {
			if b.Lang != "env" {
				continue
			}
			path := filepath.Join(t.TempDir(), ".env")
			check.OK(t, os.WriteFile(path, []byte(b.Text), 0o600))
			settings, err := config.ReadDotEnv(path)
			if err != nil || len(settings) == 0 {
				t.Errorf("%s: %v:\n%s", file, err, b.Text)
			}
			for name, value := range settings {
				read++
				if !known[name] {
					t.Errorf("%s: nothing reads %s", file, name)
				}
				if name != "BARECLAW_TRANSCRIBE" && name != "BARECLAW_HEARTBEAT_PRECHECK" {
					continue
				}
				if out, err := exec.Command("sh", "-n", "-c", value).CombinedOutput(); err != nil {
					t.Errorf("%s: %s: %v\n%s", file, value, err, out)
				}
			}
		}
	})
	if read == 0 {
		t.Error("no document has a block of settings")
	}
}
