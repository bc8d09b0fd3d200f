package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A fenced block of a document. Its marker is the comment in the line before it, if that says
// how the block is tested, or why it is not executed.
type fenced struct {
	lang, text, marker string
}

// isCommand reports whether the block is for a shell.
func (b fenced) isCommand() bool { return b.lang == "sh" || b.lang == "bash" }

// blocks returns the fenced blocks of a document in order.
func blocks(t testing.TB, file string) []fenced {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return fencedIn(string(b))
}

// fencedIn returns the fenced blocks of a text in order.
func fencedIn(text string) []fenced {
	var all []fenced
	block := regexp.MustCompile("(?ms)(?:^<!-- ((?:tested by|not executed:) [^\n]*) -->\n)?^```([a-z]*)\n(.*?)^```$")
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		all = append(all, fenced{marker: m[1], lang: m[2], text: m[3]})
	}
	return all
}

// printed returns the commands of a document that have this in them.
func printed(t testing.TB, file, piece string) string {
	t.Helper()
	for _, b := range blocks(t, file) {
		if b.isCommand() && strings.Contains(b.text, piece) {
			return b.text
		}
	}
	t.Fatalf("%s has no commands with %q", file, piece)
	return ""
}

// An example is a command of a document with the output shown below it, if any.
type example struct {
	command string
	shown   fenced
}

func (e example) name() string { return strings.Join(strings.Fields(e.command), " ") }

// examplesOf returns the commands of the documents that have no test of their own.
func examplesOf(t *testing.T, files ...string) []example {
	t.Helper()
	var examples []example
	for _, file := range files {
		all := blocks(t, file)
		for i, b := range all {
			if !b.isCommand() || b.marker != "" {
				continue
			}
			e := example{command: b.text}
			if i+1 < len(all) && (all[i+1].lang == "json" || all[i+1].lang == "text") {
				e.shown = all[i+1]
			}
			examples = append(examples, e)
		}
	}
	return examples
}

// runByCI are the commands of the README that .ci/run runs.
var runByCI = []string{"make test"}

// shell returns the command as a person's shell would run it on the machine.
// Commands are run as they are printed; that they reach the daemon of the test
// is curl's doing, which is told by its .curlrc to connect to it in the place of
// localhost:3000, and to fail where a request was refused.
func (m *machine) shell(ctx context.Context, command, base string) *exec.Cmd {
	m.t.Helper()
	rc := "silent\nshow-error\nfail-with-body\n" +
		"connect-to = \"localhost:3000:" + strings.TrimPrefix(base, "http://") + "\"\n"
	if err := os.WriteFile(m.path(".curlrc"), []byte(rc), 0o600); err != nil {
		m.t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "sh", "-e", "-c", command)
	cmd.Dir, cmd.Env = m.path("work"), append(slices.Clone(m.env), "CURL_HOME="+m.dir)
	return cmd
}

// run runs an example against a daemon and compares its output.
func (e example) run(m *machine, base string) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	cmd := m.shell(ctx, e.command, base)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		m.t.Fatalf("%s\n%v\n%s%s", e.command, err, out, &stderr)
	}
	e.compare(m.t, out)
}

// compare checks that the output is like the one shown. In JSON every member
// shown must be there, with the same value; a text that ends in "…" stands for
// all that begin so, a number for any number. Of other output every line shown
// must be there, in that order.
func (e example) compare(t testing.TB, out []byte) {
	t.Helper()
	switch e.shown.lang {
	case "json":
		var want, got any
		if err := json.Unmarshal([]byte(e.shown.text), &want); err != nil {
			t.Fatalf("the README shows bad JSON: %v\n%s", err, e.shown.text)
		}
		dec := json.NewDecoder(bytes.NewReader(out))
		for { // the last reply is the one shown
			err := dec.Decode(&got)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s\nprints no JSON: %v\n%s", e.command, err, out)
			}
		}
		if !like(got, want) {
			t.Errorf("%s\nprints\n%s\nthe README shows\n%s", e.command, out, e.shown.text)
		}
	case "text":
		lines := strings.Split(string(out), "\n")
		for want := range strings.Lines(e.shown.text) {
			i := slices.Index(lines, strings.TrimSuffix(want, "\n"))
			if i < 0 {
				t.Fatalf("%s\nprints no line %q after those before it\n%s", e.command, want, out)
			}
			lines = lines[i+1:]
		}
	}
}

func like(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		for name := range want {
			ok = ok && like(object[name], want[name])
		}
		return ok
	case []any:
		array, ok := got.([]any)
		for i := range want {
			ok = ok && i < len(array) && like(array[i], want[i])
		}
		return ok
	case string:
		text, ok := got.(string)
		if beginning, open := strings.CutSuffix(want, "…"); open {
			return ok && strings.HasPrefix(text, beginning)
		}
		return ok && text == want
	case float64:
		_, ok := got.(float64)
		return ok
	}
	return got == want
}

// needCurl skips a test, loudly, where its commands cannot be run.
func needCurl(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("NOT TESTED: the commands of the README need curl, which is not installed")
	}
}

// preparations make true what a command of the README takes for granted, by a
// piece of the command. What they return is run after it.
var preparations = map[string]func(g *gateway) (after func()){
	"cp .env.example": func(g *gateway) func() {
		b, err := os.ReadFile(".env.example")
		if err == nil {
			err = os.WriteFile(g.path("work/.env.example"), b, 0o600)
		}
		if err != nil {
			g.t.Fatal(err)
		}
		return func() {}
	},
	"/channels/desk/interrupt": func(g *gateway) func() {
		id := g.tell("desk", "wait "+g.path("never"))
		g.eventually("the turn runs", func() bool { return g.begun("wait ") == 1 })
		return func() {
			if a := g.outcome(id); a.str("code") != "interrupted" {
				g.t.Errorf("the turn was not interrupted: %s", a.body)
			}
		}
	},
	"/approvals/": func(g *gateway) func() {
		id := g.tell("ops", "tool 0 ask ls")
		g.eventually("permission is asked", func() bool {
			pending, _ := g.must("GET", "/approvals", nil, 200).json["approvals"].([]any)
			return len(pending) == 1
		})
		return func() {
			if a := g.outcome(id); a.str("state") != "answered" {
				g.t.Errorf("the allowed turn was not answered: %s", a.body)
			}
		}
	},
}

// TestReadmeCommands runs every other command of README.md and docs/http.md.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	needCurl(t)
	start := func(settings ...string) *gateway {
		m := newMachine(t, append(settings, "BARECLAW_APPROVALS=ask", "BARECLAW_RUNTIME_DIR=")...)
		m.env = append(m.env, "XDG_RUNTIME_DIR="+m.path("run"))
		m.installed()
		return m.start()
	}
	open, guarded := start(), start("BARECLAW_HTTP_TOKEN=sesame")
	ci, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	prepared := map[string]bool{}
	for _, e := range examplesOf(t, "README.md", "docs/http.md") {
		switch {
		case slices.Contains(firstRun, e.name()):
			continue
		case slices.Contains(runByCI, e.name()):
			if !strings.Contains(string(ci), "step "+e.name()+"\n") {
				t.Errorf("%q is not run by .ci/run", e.name())
			}
			continue
		case strings.Contains(e.command, "$BARECLAW_HTTP_TOKEN"):
			e.run(guarded.machine, guarded.base)
			continue
		}
		after := func() {}
		for piece, prepare := range preparations {
			if strings.Contains(e.command, piece) {
				prepared[piece] = true
				after = prepare(open)
			}
		}
		e.run(open.machine, open.base)
		after()
	}
	if len(prepared) != len(preparations) {
		t.Errorf("only the commands with %v are in the README", prepared)
	}
	if b, err := os.ReadFile(filepath.Join(open.path("work"), ".env")); err != nil || len(b) == 0 {
		t.Errorf("cp made no .env: %v", err)
	}
	open.balanced()
}
