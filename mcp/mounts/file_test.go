package mounts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
)

const usual = `{
  "mcpServers": {
    "github": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-github"],
      "env": {"GITHUB_TOKEN": "${TOKEN}"},
      "category": "github",
      "allow": ["get_*", "read-only"],
      "idle": "90s"
    },
    "docs": {"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${TOKEN:-none}"}, "autoApprove": ["x"]},
    "browser": {"command": "npx", "args": ["@playwright/mcp"], "prefix": "", "scope": "caller", "timeout": "5m"}
  },
  "inputs": [{"id": "x"}]
}`

// TestFile reads a file as other clients write it, with the gateway's own members.
func TestFile(t *testing.T) {
	t.Parallel()
	f, err := Parse([]byte(usual))
	check.OK(t, err)
	if want := []string{"browser", "docs", "github"}; !slices.Equal(f.Names(), want) {
		t.Fatalf("the servers are %v, want %v", f.Names(), want)
	}
	github, err := f.Server("github")
	check.OK(t, err)
	if github.Command != "npx" || len(github.Args) != 2 || github.Env["GITHUB_TOKEN"] != "${TOKEN}" || github.Category != tools.GitHub || time.Duration(github.Idle) != 90*time.Second {
		t.Errorf("github is %+v", github)
	}
	for _, c := range []struct {
		tool     string
		readOnly bool
		allowed  bool
	}{{"get_issue", false, true}, {"create_issue", false, false}, {"list_issues", true, true}} {
		if got := github.Allows(c.tool, c.readOnly); got != c.allowed {
			t.Errorf("%s is allowed: %v, want %v", c.tool, got, c.allowed)
		}
	}
	docs, err := f.Server("docs")
	check.OK(t, err)
	if docs.Allows("any", false) || !docs.Allows("any", true) {
		t.Error("a server that says nothing is not allowed what only reads")
	}
	browser, err := f.Server("browser")
	check.OK(t, err)
	for server, want := range map[*Server]string{&github: "github_search", &docs: "docs_search", &browser: "search"} {
		if got := server.NameOf("search"); got != want {
			t.Errorf("a tool of %s has the name %s, want %s", server.Name, got, want)
		}
	}
	if got := github.NameOf("github_search"); got != "github_search" {
		t.Errorf("a tool that has the prefix becomes %s", got)
	}
	if browser.Scope != PerCaller || time.Duration(browser.Timeout) != 5*time.Minute {
		t.Errorf("browser is %+v", browser)
	}
	if _, err := f.Server("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an unknown server: %v", err)
	}
}

// TestFileIsChanged: what the gateway does not know stays, and nobody else may read the file.
func TestFileIsChanged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), FileName)
	f, err := Read(path)
	check.OK(t, err)
	if len(f.Names()) != 0 {
		t.Errorf("a file that is not there has %v", f.Names())
	}
	check.OK(t, os.WriteFile(path, []byte(usual), 0o644))
	f, err = Read(path)
	check.OK(t, err)
	check.OK(t, f.Put(Server{Name: "memory", Command: "memory-server", Idle: Duration(time.Minute)}))
	if !f.Remove("browser") || f.Remove("browser") {
		t.Error("a server is removed twice, or not at all")
	}
	check.OK(t, f.Write(path))
	text, err := os.ReadFile(path)
	check.OK(t, err)
	for _, kept := range []string{`"inputs"`, `"autoApprove"`, `"${TOKEN}"`, `"memory-server"`, `"1m0s"`} {
		if !strings.Contains(string(text), kept) {
			t.Errorf("the file has no %s:\n%s", kept, text)
		}
	}
	info, err := os.Stat(path)
	check.OK(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %o", info.Mode().Perm())
	}
	f, err = Read(path)
	check.OK(t, err)
	memory, err := f.Server("memory")
	if err != nil || memory.Command != "memory-server" || !slices.Equal(f.Names(), []string{"docs", "github", "memory"}) {
		t.Errorf("%v has %+v, %v", f.Names(), memory, err)
	}
}

// TestBadFiles: an error names the place, and no value, which may be a secret.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\n\"mcpServers\": {\n\"a\": {secret}\n}}": "line 3: it is not JSON",
		"[]":                         "line 1: it is not a JSON object",
		`{"mcpServers": ["secret"]}`: `"mcpServers" must be an object`,
		"{\n\"mcpServers\": {},\n\"mcpServers\": {\"secret\": 1}}": "line 3: an object has two members of one name",
	} {
		_, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		`"secret"`:                                       "it is not described by an object",
		`{}`:                                             "either a command or a url",
		`{"command":"x","url":"http://secret"}`:          "either a command or a url",
		`{"command":["secret"]}`:                         `server "one": command has a value of another type: command is a text`,
		`{"command":"x","env":{"TOKEN":7}}`:              `server "one": env.TOKEN has a value of another type: env is an object whose values are texts`,
		`{"command":"x","idle":"secret"}`:                `server "one": idle: a time is 1s to 24h`,
		`{"command":"x","idle":"48h"}`:                   `server "one": idle: a time is 1s to 24h`,
		`{"command":"x","scope":"secret"}`:               `server "one": scope: a scope is "shared" or "caller"`,
		`{"command":"x","category":"secret"}`:            "category: there are browser, database",
		`{"command":"x","cwd":"secret"}`:                 "cwd: it must be an absolute path",
		`{"command":"x","prefix":"a b"}`:                 "prefix: it is at most",
		`{"command":"x","allow":["["]}`:                  "allow: \"[\" is not a pattern of names",
		`{"url":"ftp://secret"}`:                         "url: it must begin with http",
		`{"url":"https://ann:secret@example.org"}`:       "url: a name and a password belong into headers",
		`{"url":"https://example.org","type":"sse"}`:     "SSE alone",
		`{"url":"https://example.org","type":"stdio"}`:   "type: it does not fit",
		`{"comand":"secret"}`:                            `either a command or a url; it has no member "comand"; did you mean "command"?`,
		`{"command":"x","type":"secret"}`:                `type: it is "stdio" or "http"`,
		`{"command":"x","args":["a"],"args":["secret"]}`: "two members of one name",
	} {
		f, err := Parse([]byte(`{"mcpServers":{"one":` + text + `}}`))
		if err == nil {
			_, err = f.Server("one")
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for _, name := range []string{"", "a b", "-a", "a/b", strings.Repeat("x", maxName+1)} {
		f, err := Parse(nil)
		check.OK(t, err)
		if err := f.Put(Server{Name: name, Command: "x"}); err == nil {
			t.Errorf("a server has the name %q", name)
		}
	}
	path := filepath.Join(t.TempDir(), FileName)
	check.OK(t, os.WriteFile(path, make([]byte, maxFile+1), 0o600))
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a huge file: %v", err)
	}
}

// TestExpanded: variables stand for the gateway's, and one that is missing is named.
func TestExpanded(t *testing.T) {
	t.Parallel()
	environ := map[string]string{"TOKEN": "s3cret", "EMPTY": ""}
	lookup := func(name string) (string, bool) {
		value, ok := environ[name]
		return value, ok
	}
	s := Server{
		Name:    "one",
		Command: "${HOME:-/home/ann}/bin/server",
		Args:    []string{"--token=${TOKEN}", "${EMPTY}", "$TOKEN", "${EMPTY:-x}"},
		Env:     map[string]string{"A": "${TOKEN}"},
	}
	e, err := s.Expanded(lookup)
	check.OK(t, err)
	if want := []string{"--token=s3cret", "", "$TOKEN", "x"}; e.Command != "/home/ann/bin/server" || !slices.Equal(e.Args, want) || e.Env["A"] != "s3cret" {
		t.Errorf("%+v", e)
	}
	if s.Args[0] != "--token=${TOKEN}" || s.Env["A"] != "${TOKEN}" {
		t.Errorf("the description has changed: %+v", s)
	}
	s = Server{Name: "one", URL: "https://${HOST}/${PATH_OF}", Headers: map[string]string{"A": "${TOKEN}"}}
	if _, err = s.Expanded(lookup); err == nil || !strings.Contains(err.Error(), "HOST, PATH_OF") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("missing variables: %v", err)
	}
	environ["HOST"], environ["PATH_OF"] = "ann:s3cret@example.org", "x"
	if _, err = s.Expanded(lookup); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a variable that makes the url wrong: %v", err)
	}
}

// FuzzParse: no text ends the program, and what is read can be written and read again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(usual))
	f.Add([]byte(`{"mcpServers":{"a":{"command":"x","prefix":""}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse(text)
		if err != nil {
			return
		}
		path := filepath.Join(t.TempDir(), FileName)
		check.OK(t, file.Write(path))
		again, err := Read(path)
		check.OK(t, err)
		if !slices.Equal(again.Names(), file.Names()) {
			t.Errorf("%v became %v", file.Names(), again.Names())
		}
		for _, name := range file.Names() {
			_, before := file.Server(name)
			if _, after := again.Server(name); (before == nil) != (after == nil) {
				t.Errorf("%q: %v became %v", name, before, after)
			}
		}
	})
}

// TestTypos: members that are like known ones are named; those of other programs are not.
func TestTypos(t *testing.T) {
	t.Parallel()
	f, err := Parse([]byte(`{"mcpservers":{},"mcpServers":{"a":{"command":"x","alow":["y"],"autoApprove":[],"description":"x","Timeout":"1m"}},"inputs":[]}`))
	check.OK(t, err)
	want := []string{
		`The server "a": it has no member "Timeout"; did you mean "timeout"?`,
		`The server "a": it has no member "alow"; did you mean "allow"?`,
	}
	if got := f.LeftOut(); !slices.Equal(got, want) {
		t.Errorf("left out are %q", got)
	}
	f, err = Parse([]byte(`{"mcpservers":{}}`))
	check.OK(t, err)
	if got := f.LeftOut(); len(got) != 1 || !strings.Contains(got[0], `did you mean "mcpServers"?`) {
		t.Errorf("left out are %q", got)
	}
}

// TestTarget: what a server is in short tells servers apart, and has no secret.
func TestTarget(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Server{
		"npx @playwright/mcp@0.0.83":             {Command: "npx", Args: []string{"-y", "@playwright/mcp@0.0.83", "--headless"}},
		"npx @modelcontextprotocol/server-files": {Command: "npx", Args: []string{"@modelcontextprotocol/server-files", "/home/ann"}},
		"node build/index.js":                    {Command: "node", Args: []string{"build/index.js"}},
		"python mcp_server":                      {Command: "python", Args: []string{"-u", "-m", "mcp_server"}},
		"docker run":                             {Command: "docker", Args: []string{"run", "-e", "TOKEN=secret"}},
		"one":                                    {Command: "one", Args: []string{"--token", "secret"}},
		"two":                                    {Command: "two", Args: []string{"postgres://ann:secret@host/db"}},
		"three":                                  {Command: "three", Args: []string{"ghp_aB3dE5gH7jK9mN1pQ3"}},
		"four":                                   {Command: "four", Args: []string{"${TOKEN:-secret}"}},
		"${BIN}/five":                            {Command: "${BIN:-/secret}/five"},
		"six":                                    {Command: "six", Args: []string{"API_KEY=secret"}},
		"https://example.org":                    {URL: "https://ann:secret@example.org/secret?key=secret"},
		"https://${HOST}":                        {URL: "https://${HOST:-secret}/secret"},
		"${ADDRESS}":                             {URL: "${ADDRESS:-https://host/secret}/secret"},
		"${SCHEME}://host":                       {URL: "${SCHEME}://host/secret"},
	} {
		if got := s.Target(); got != want {
			t.Errorf("%+v is %q, want %q", s, got, want)
		}
	}
	long := Server{Command: "/" + strings.Repeat("x", 500) + "\x1b[31m"}
	if got := long.Target(); len(got) > maxTarget+3 || strings.Contains(got, "\x1b") {
		t.Errorf("it is %q", got)
	}
}

// TestGatewayIsNotMounted: the gateway's own address and its own program are refused.
func TestGatewayIsNotMounted(t *testing.T) {
	own, err := os.Executable()
	check.OK(t, err)
	t.Setenv("ADDRESS", "http://localhost:3000/mcp")
	gateway := Gateway{Host: "gateway.example", Port: 3000}
	for _, c := range []struct {
		server Server
		own    bool
	}{
		{Server{URL: "http://localhost:3000/mcp"}, true},
		{Server{URL: "http://127.0.0.1:3000/mcp/bags/browser"}, true},
		{Server{URL: "http://[::1]:3000/mcp"}, true},
		{Server{URL: "http://0.0.0.0:3000/mcp"}, true},
		{Server{URL: "https://Gateway.example:3000/mcp"}, true},
		{Server{URL: "${ADDRESS}"}, true},
		{Server{URL: "http://localhost:3001/mcp"}, false},
		{Server{URL: "http://example.org:3000/mcp"}, false},
		{Server{URL: "http://localhost/mcp"}, false},
		{Server{URL: "http://${NOBODY_SETS_THIS}/mcp"}, false},
		{Server{Command: own, Args: []string{"mcp", "--bag", "all"}}, true},
		{Server{Command: own, Args: []string{"other"}}, false},
		{Server{Command: "cat", Args: []string{"mcp"}}, false},
	} {
		c.server.Name = "one"
		if err := gateway.Refuse(&c.server); (err != nil) != c.own {
			t.Errorf("%+v: %v", c.server, err)
		}
	}
}

// TestBags: a bag that is no list of patterns is left out, and takes neither the others nor the servers along.
func TestBags(t *testing.T) {
	t.Parallel()
	f, err := Parse([]byte(`{"mcpServers":{"a":{"command":"x"}},"bags":{"good":["a_*"],"text":"a_*","mixed":["a",1],"browser":["a"]}}`))
	check.OK(t, err)
	if got := f.Bags(); len(got) != 1 || !slices.Equal(got["good"], []string{"a_*"}) {
		t.Errorf("the bags are %v", got)
	}
	left := f.LeftOut()
	if len(left) != 3 || len(f.Names()) != 1 {
		t.Errorf("left out are %q, and the servers are %q", left, f.Names())
	}
	for _, words := range []string{`The bag "mixed" is left out`, `The bag "text" is left out`, `bag "browser" is there already`} {
		if !strings.Contains(strings.Join(left, "\n"), words) {
			t.Errorf("%q is not in %q", words, left)
		}
	}
	if _, err := Parse([]byte(`{"bags":[]}`)); err == nil {
		t.Error("bags may be a list")
	}
}
