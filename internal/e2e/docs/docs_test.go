package docs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// An example is a command of a document with the output shown below it, if any.
type example struct {
	command string
	shown   harness.Fenced
}

func (e example) name() string { return strings.Join(strings.Fields(e.command), " ") }

// examplesOf returns the commands of the documents that have no test of their own.
func examplesOf(t *testing.T, files ...string) []example {
	t.Helper()
	var examples []example
	for _, file := range files {
		all := harness.Blocks(t, file)
		for i, b := range all {
			if !b.IsCommand() || b.Marker != "" {
				continue
			}
			e := example{command: b.Text}
			if i+1 < len(all) && (all[i+1].Lang == "json" || all[i+1].Lang == "text") {
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
// Commands run as printed: a .curlrc makes curl connect to the daemon of the test
// instead of localhost:3000, and fail if a request is refused.
func shell(ctx context.Context, m *harness.Machine, command, base string) *exec.Cmd {
	m.T.Helper()
	rc := "silent\nshow-error\nfail-with-body\n" +
		"connect-to = \"localhost:3000:" + strings.TrimPrefix(base, "http://") + "\"\n"
	check.OK(m.T, os.WriteFile(m.Path(".curlrc"), []byte(rc), 0o600))
	cmd := exec.CommandContext(ctx, "sh", "-e", "-c", command)
	cmd.Dir, cmd.Env = m.Path("work"), append(slices.Clone(m.Env), "CURL_HOME="+m.Dir)
	return cmd
}

// run runs an example against a daemon and compares its output.
func (e example) run(m *harness.Machine, base string) {
	m.T.Helper()
	ctx, cancel := context.WithTimeout(m.T.Context(), harness.Patience)
	defer cancel()
	cmd := shell(ctx, m, e.command, base)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		m.T.Fatalf("%s\n%v\n%s%s", e.command, err, out, &stderr)
	}
	e.compare(m.T, out)
}

// compare checks that the output is like the one shown. In JSON every member
// shown must be there, with the same value; a text that ends in "…" stands for
// all that begin so, a number for any number. Of other output every line shown
// must be there, in that order.
func (e example) compare(t testing.TB, out []byte) {
	t.Helper()
	switch e.shown.Lang {
	case "json":
		var want, got any
		if err := json.Unmarshal([]byte(e.shown.Text), &want); err != nil {
			t.Fatalf("the README shows bad JSON: %v\n%s", err, e.shown.Text)
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
			t.Errorf("%s\nprints\n%s\nthe README shows\n%s", e.command, out, e.shown.Text)
		}
	case "text":
		lines := strings.Split(string(out), "\n")
		for want := range strings.Lines(e.shown.Text) {
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

// preparations make true what a command of the README takes for granted, by a
// piece of the command. What they return is run after it.
var preparations = map[string]func(g *harness.Gateway) (after func()){
	"cp .env.example": func(g *harness.Gateway) func() {
		b, err := os.ReadFile(".env.example")
		if err == nil {
			err = os.WriteFile(g.Path("work/.env.example"), b, 0o600)
		}
		check.OK(g.T, err)
		return func() {}
	},
	"/channels/desk/interrupt": func(g *harness.Gateway) func() {
		id := g.Tell("desk", "wait "+g.Path("never"))
		g.Eventually("the turn runs", func() bool { return g.Begun("wait ") == 1 })
		return func() {
			if a := g.Outcome(id); a.Str("code") != "interrupted" {
				g.T.Errorf("the turn was not interrupted: %s", a.Body)
			}
		}
	},
	"/approvals/": func(g *harness.Gateway) func() {
		id := g.Tell("ops", "tool 0 ask ls")
		g.Eventually("permission is asked", func() bool {
			pending, _ := g.Must("GET", "/approvals", nil, 200).JSON["approvals"].([]any)
			return len(pending) == 1
		})
		return func() {
			if a := g.Outcome(id); a.Str("state") != "answered" {
				g.T.Errorf("the allowed turn was not answered: %s", a.Body)
			}
		}
	},
}

// TestReadmeCommands runs every other command of README.md and docs/http.md.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	harness.NeedCurl(t)
	start := func(settings ...string) *harness.Gateway {
		m := harness.NewMachine(t, append(settings, "BARECLAW_APPROVALS=ask", "BARECLAW_RUNTIME_DIR=")...)
		m.Env = append(m.Env, "XDG_RUNTIME_DIR="+m.Path("run"))
		m.Installed()
		return m.Start()
	}
	open, guarded := start(), start("BARECLAW_HTTP_TOKEN=sesame")
	ci, err := os.ReadFile(".ci/run")
	check.OK(t, err)
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
			e.run(guarded.Machine, guarded.Base)
			continue
		}
		after := func() {}
		for piece, prepare := range preparations {
			if strings.Contains(e.command, piece) {
				prepared[piece] = true
				after = prepare(open)
			}
		}
		e.run(open.Machine, open.Base)
		after()
	}
	if len(prepared) != len(preparations) {
		t.Errorf("only the commands with %v are in the README", prepared)
	}
	if b, err := os.ReadFile(filepath.Join(open.Path("work"), ".env")); err != nil || len(b) == 0 {
		t.Errorf("cp made no .env: %v", err)
	}
	open.Balanced()
}
