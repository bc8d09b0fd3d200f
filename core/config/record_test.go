package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// TestDotEnvOfTheWorkingDirectory has a repository's .env, which counts for the gateway alone
// until a gateway was started there, and then only its BARECLAW_ variables do.
func TestDotEnvOfTheWorkingDirectory(t *testing.T) {
	first, second := world(t)
	for _, name := range []string{"LD_PRELOAD", "NODE_OPTIONS", "TOOL", "BARECLAW_SOCKET"} {
		unset(t, name)
	}
	write(t, first, "BARECLAW_PORT=2\nBARECLAW_CLAUDE=./evil.sh\nLD_PRELOAD=./evil.so\nNODE_OPTIONS=-r./evil.js\nXDG_STATE_HOME=/tmp/evil\nHOME=/tmp/evil\nBARECLAW_SOCKET=/tmp/evil\n")
	write(t, second, "TOOL=mine\n")
	port := func(role Role, want Port) Config {
		t.Helper()
		for _, name := range []string{"BARECLAW_PORT", "BARECLAW_CLAUDE"} {
			unset(t, name)
		}
		c, err := Load(role)
		check.OK(t, err)
		if c.HTTP.Port != want || (want == 3000) != (c.Claude.Command == "claude") {
			t.Errorf("as role %d: port %d, claude %q; want port %d", role, c.HTTP.Port, c.Claude.Command, want)
		}
		return c
	}
	port(AsCommand, 3000)
	if unread := Examine(AsCommand).Unread; unread != first {
		t.Errorf("it is said of %q that it does not count, want %q", unread, first)
	}
	if c := port(AsGateway, 2); len(c.Unknown) != 1 || !strings.Contains(c.Unknown[0], "BARECLAW_SOCKET, HOME, LD_PRELOAD, NODE_OPTIONS, XDG_STATE_HOME") {
		t.Errorf("warnings %q", c.Unknown)
	}
	for _, name := range []string{"LD_PRELOAD", "NODE_OPTIONS", "BARECLAW_SOCKET"} {
		if value, ok := os.LookupEnv(name); ok {
			t.Errorf("%s=%s was taken from the repository's file", name, value)
		}
	}
	if os.Getenv("HOME") == "/tmp/evil" || os.Getenv("TOOL") != "mine" {
		t.Error("what the repository's file says is in the environment, or what the user's says is not")
	}
	port(AsCommand, 3000)
	check.OK(t, Remember())
	port(AsCommand, 2)
	link := filepath.Join(t.TempDir(), "link")
	cwd, err := os.Getwd()
	check.OK(t, err)
	check.OK(t, os.Symlink(cwd, link))
	t.Chdir(link)
	port(AsCommand, 2)
	elsewhere := t.TempDir()
	write(t, filepath.Join(elsewhere, ".env"), "BARECLAW_PORT=2\nBARECLAW_CLAUDE=./evil.sh\n")
	t.Chdir(elsewhere)
	port(AsCommand, 3000)
}

// TestRememberNeedsDotEnv: a directory without the file may become one with somebody else's.
func TestRememberNeedsDotEnv(t *testing.T) {
	first, _ := world(t)
	check.OK(t, Remember())
	write(t, first, "BARECLAW_PORT=2\n")
	if cwd, err := os.Getwd(); err != nil || OnRecord(cwd) {
		t.Errorf("the directory is on record (%v)", err)
	}
}

func TestMaySendToken(t *testing.T) {
	const here, users = 1, 2 // the two files; 0 is the environment, -1 none
	for name, c := range map[string]struct {
		token, port, state int
		live, want         bool
	}{
		"the user's, default address":        {users, -1, -1, false, true},
		"the user's, user's address":         {users, users, users, false, true},
		"the user's, repository's port":      {users, here, -1, false, false},
		"the user's, repository's directory": {users, -1, here, false, false},
		"the user's, repository's record":    {users, -1, here, true, false},
		"the user's, recorded address":       {users, here, -1, true, true},
		"the user's, address given":          {users, 0, 0, false, true},
		"given, user's address":              {0, users, -1, false, true},
		"given, repository's port":           {0, here, -1, false, false},
		"repository's, its own address":      {here, here, here, false, true},
		"repository's, the user's address":   {here, users, -1, false, false},
		"none, repository's port":            {-1, here, -1, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := world(t)
			text := map[int]string{}
			give := func(where int, name, value string) {
				unset(t, name)
				if where == 0 {
					t.Setenv(name, value)
				}
				text[where] += name + "=" + value + "\n"
			}
			give(c.token, "BARECLAW_HTTP_TOKEN", "sesame")
			give(c.port, "BARECLAW_PORT", "2")
			give(c.state, "BARECLAW_STATE_DIR", "/tmp/state")
			write(t, first, text[here])
			write(t, second, text[users])
			check.OK(t, Remember())
			cfg, err := Load(AsCommand)
			check.OK(t, err)
			names := []string{"BARECLAW_STATE_DIR"}
			if !c.live {
				names = append(names, "BARECLAW_PORT")
			}
			err = cfg.CheckTokenTarget(names...)
			if (err == nil) != c.want || err != nil && (strings.Contains(err.Error(), "sesame") || !strings.Contains(err.Error(), first)) {
				t.Errorf("CheckTokenTarget = %v, want it allowed: %t", err, c.want)
			}
		})
	}
}

// TestWorkingDir has a service run where its .env counts, and otherwise in the user's home.
func TestWorkingDir(t *testing.T) {
	first, _ := world(t)
	home, project := os.Getenv("HOME"), filepath.Dir(first)
	want := func(what, want string) {
		t.Helper()
		if got, err := WorkingDir(); err != nil || got != want {
			t.Errorf("%s it is %q, %v; want %s", what, got, err, want)
		}
	}
	want("without a .env", home)
	write(t, first, "")
	want("with a .env that no gateway has read", home)
	check.OK(t, Remember())
	want("with a .env on record", project)
	check.OK(t, os.Remove(first))
	want("without a .env any more", home)
	t.Setenv("HOME", "")
	if got, err := WorkingDir(); err == nil {
		t.Errorf("without a home it is %q", got)
	}
}
