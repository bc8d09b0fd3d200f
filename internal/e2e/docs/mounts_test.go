package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/mcpservers"
)

const mountsPage = "docs/mounts.md"

// TestMountsPage mounts the servers of docs/mounts.md, has Claude call a tool that asks, and allows the call.
func TestMountsPage(t *testing.T) {
	t.Parallel()
	needBash(t)
	m := harness.NewMachine(t, "BARECLAW_APPROVALS=ask", "BARECLAW_HTTP_TOKEN="+harness.Token, "GITHUB_PERSONAL_ACCESS_TOKEN=secret")
	m.Installed()
	installNpx(m)
	g := m.Start().Bearer()
	g.Eventually("tools are there", func() bool { return strings.Contains(m.Log.String(), "tool host ready") })

	add := m.AsPrinted(harness.Printed(t, mountsPage, "bareclaw mount add files"))
	said(t, add, "files: ")
	list := m.Path("home/notes/shopping.txt")
	talk := harness.Printed(t, mountsPage, "bareclaw send desk")
	ask, decide, _ := strings.Cut(talk, "bareclaw approvals allow")
	ask = harness.Replaced(t, ask, `"Write a shopping list into ~/notes/shopping.txt: apples, bread."`,
		fmt.Sprintf(`'mcp - files_write_file {"path": %q, "content": "apples, bread"}'`, list))
	send, show, _ := strings.Cut(ask, "\n")
	message := strings.TrimSpace(m.AsPrinted(send))
	id := ""
	g.Eventually("a person is asked", func() bool {
		if now := g.Must("GET", "/messages/"+message, nil, 200); now.Str("state") == "answered" {
			t.Fatalf("nobody is asked: %s", now.Body)
		}
		pending := g.Must("GET", "/approvals", nil, 200).Array("approvals")
		if len(pending) == 1 {
			id = pending[0].Str("id")
		}
		return id != ""
	})
	if out := m.AsPrinted(show); !strings.Contains(out, "files_write_file") {
		t.Errorf("the list of approvals is\n%s", out)
	}
	if _, err := os.Stat(list); err == nil {
		t.Error("the file is there before anybody has allowed it")
	}
	m.AsPrinted(harness.Replaced(t, "bareclaw approvals allow"+decide, " ID", " "+id))
	g.Outcome(message)
	if text, err := os.ReadFile(list); err != nil || string(text) != "apples, bread" {
		t.Errorf("the file has %q, %v", text, err)
	}

	said(t, m.AsPrinted(harness.Printed(t, mountsPage, "bareclaw mount add github")), "github: ")
	out := m.AsPrinted(harness.Printed(t, mountsPage, "bareclaw mount list"))
	for _, want := range []string{"14 (4 ask)", "26 (12 ask)", "files_write_file", "Removed files."} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
	g.Balanced()
}

// said holds that a command has printed the line that the page shows, which begins so.
func said(t *testing.T, printed, beginning string) {
	t.Helper()
	for _, b := range harness.Blocks(t, mountsPage) {
		if b.Lang == "text" && strings.HasPrefix(b.Text, beginning) {
			if !strings.Contains(printed, b.Text) {
				t.Errorf("the command prints\n%s\nand the page says\n%s", printed, b.Text)
			}
			return
		}
	}
	t.Errorf("the page shows nothing that begins with %q", beginning)
}

// installNpx puts an npx on the machine's PATH that starts the servers of the page in their pinned versions.
func installNpx(m *harness.Machine) {
	m.T.Helper()
	script := "#!/bin/sh\nshift # -y\ncase $1 in\n"
	for name, s := range map[string]mcpservers.Server{
		"@modelcontextprotocol/server-filesystem": mcpservers.Filesystem(m.T, m.Path("home/notes")),
		"@modelcontextprotocol/server-github":     mcpservers.GitHub(m.T),
	} {
		script += fmt.Sprintf("%s) shift; exec '%s' '%s' \"$@\" ;;\n", name, s.Command, s.Args[0])
	}
	npx := filepath.Join(m.Path("npx"), "npx")
	check.OK(m.T, os.MkdirAll(filepath.Dir(npx), 0o700))
	check.OK(m.T, os.WriteFile(npx, []byte(script+"esac\n"), 0o700))
	for i, v := range m.Env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			m.Env[i] = "PATH=" + filepath.Dir(npx) + ":" + path
		}
	}
}
