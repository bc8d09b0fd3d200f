package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/roottest"
)

// The tests of Load change the process's environment and working directory, so
// none of them is parallel.

// world is a fresh home, working directory and configuration directory, with
// no BARECLAW_ variable set. It returns the paths of the two .env files.
func world(t *testing.T) (first, second string) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, prefix) {
			unset(t, name)
		}
	}
	config := t.TempDir()
	t.Setenv("HOME", shortDir(t))
	t.Setenv("XDG_CONFIG_HOME", config)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Chdir(t.TempDir())
	check.OK(t, os.Mkdir(filepath.Join(config, "bareclaw"), 0o700))
	cwd, err := os.Getwd()
	check.OK(t, err)
	return filepath.Join(cwd, ".env"), filepath.Join(config, "bareclaw", ".env")
}

// shortDir is a temporary directory with a short name: sockets have to fit below it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bcc")
	check.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// unset removes a variable until the test ends, whatever the test makes of it.
func unset(t *testing.T, name string) {
	t.Helper()
	t.Setenv(name, "") // restores it in the end
	check.OK(t, os.Unsetenv(name))
}

func write(t *testing.T, file, text string) {
	t.Helper()
	check.OK(t, os.WriteFile(file, []byte(text), 0o600))
}

func TestLoadWithoutFiles(t *testing.T) {
	world(t)
	c, err := Load(AsGateway)
	check.OK(t, err)
	if c.HTTP.Port != 3000 || string(c.Files.CWD) != os.Getenv("HOME") || c.Unknown != nil {
		t.Errorf("Load = %+v, want the defaults", c)
	}
}

func TestLoadPrecedence(t *testing.T) {
	first, second := world(t)
	for _, name := range []string{"BARECLAW_PORT", "BARECLAW_MAX_TURNS", "BARECLAW_QUEUE_LIMIT", "TOOL_TOKEN", "BARECLAW_PROT"} {
		unset(t, name)
	}
	t.Setenv("BARECLAW_PORT", "1")
	t.Setenv("BARECLAW_MODEL", "") // set to nothing: the default, whatever the files say
	write(t, first, "BARECLAW_PORT=2\r\nBARECLAW_MAX_TURNS=2\r\nBARECLAW_MODEL=opus\r\n")
	write(t, second, "\ufeffBARECLAW_PORT=3\nexport BARECLAW_MAX_TURNS=3\nBARECLAW_QUEUE_LIMIT=\"3\"\nBARECLAW_PROT=3\nTOOL_TOKEN='a$b'\n")
	c, err := Load(AsGateway)
	check.OK(t, err)
	if c.HTTP.Port != 1 || c.Claude.MaxTurns != 2 || c.Turns.QueueLimit != 3 || c.Claude.Model != "" {
		t.Errorf("port %d, turns %d, queue %d, model %q; want 1, 2, 3 and none", c.HTTP.Port, c.Claude.MaxTurns, c.Turns.QueueLimit, c.Claude.Model)
	}
	if got := os.Getenv("TOOL_TOKEN"); got != "a$b" {
		t.Errorf("TOOL_TOKEN = %q in the process's environment, want a$b", got)
	}
	if len(c.Unknown) != 1 || !strings.HasPrefix(c.Unknown[0], "BARECLAW_PROT ") {
		t.Errorf("unknown = %v, want BARECLAW_PROT", c.Unknown)
	}
}

func TestLoadFindsConfigUnderHome(t *testing.T) {
	world(t)
	unset(t, "BARECLAW_PORT")
	unset(t, "XDG_CONFIG_HOME")
	dir := filepath.Join(os.Getenv("HOME"), ".config", "bareclaw")
	check.OK(t, os.MkdirAll(dir, 0o700))
	write(t, filepath.Join(dir, ".env"), "BARECLAW_PORT=4")
	if c, err := Load(AsGateway); err != nil || c.HTTP.Port != 4 {
		t.Errorf("Load = port %d, %v, want 4", c.HTTP.Port, err)
	}
}

// TestLoadReportsFilesAndVariables has both files and a variable wrong.
func TestLoadReportsFilesAndVariables(t *testing.T) {
	first, second := world(t)
	t.Setenv("BARECLAW_PORT", "x")
	write(t, first, "BARECLAW_MODEL=1\n\n# a comment\nB=\"two\nlines\"\npassword: sesame\nBARECLAW_HTTP_TOKEN=\"sesame\n")
	check.OK(t, os.Mkdir(second, 0o700))
	_, err := Load(AsGateway)
	if err == nil {
		t.Fatal("Load took everything")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], second+": ") || !strings.HasPrefix(lines[1], first+":7: ") || !strings.HasPrefix(lines[2], "BARECLAW_PORT: ") {
		t.Errorf("problems:\n%v\nwant one of %s:7, one of %s and one of BARECLAW_PORT", err, first, second)
	}
	if strings.Contains(err.Error(), "sesame") {
		t.Errorf("the file's content is in the error:\n%v", err)
	}
	if _, ok := os.LookupEnv("BARECLAW_MODEL"); ok {
		t.Error("a file that cannot be understood set a variable")
	}
}

// TestLoadReportsAllVariables has several variables of the environment wrong, and shows no secret.
func TestLoadReportsAllVariables(t *testing.T) {
	world(t)
	t.Setenv("BARECLAW_HTTP_TOKEN", " sesame")
	t.Setenv("BARECLAW_TELEGRAM_TOKEN", "sesame")
	t.Setenv("BARECLAW_QUEUE_LIMIT", "\t0 ")
	t.Setenv("BARECLAW_MAX_TURNS", " 7 ")
	t.Setenv("BARECLAW_MODEL", " ")
	_, err := Load(AsGateway)
	want := `BARECLAW_HTTP_TOKEN: it has a space, a control character or a letter outside ASCII; accepted: letters, digits and punctuation of ASCII, without spaces
BARECLAW_QUEUE_LIMIT: "0" is out of range; accepted: 1 to 1000000
BARECLAW_TELEGRAM_TOKEN: it does not look like a bot token; accepted: a token from @BotFather, as 123456:ABC-DEF
BARECLAW_ALLOWED_USERS: it is empty, but BARECLAW_TELEGRAM_TOKEN is set, and an adapter that listens to everyone lets everyone run commands; accepted: a comma-separated list of Telegram user ids, as 123456789,987654321`
	if err == nil || err.Error() != want {
		t.Errorf("problems:\n%v\nwant\n%s", err, want)
	}
	if c := Examine(AsGateway).Config; c.Claude.MaxTurns != 7 || c.Claude.Model != "" || c.HTTP.Token.IsSet() {
		t.Errorf("config: %+v", c)
	}
}

// TestDotEnvOfStrangers: a command may be called where others have put a .env, which
// must not say what it runs, or to whom it tells the token.
func TestDotEnvOfStrangers(t *testing.T) {
	for _, c := range []struct {
		name, want string
		give       func(file string) error
	}{
		{"of another user", "belongs to another user", func(file string) error { return os.Chown(file, os.Getuid()+4711, -1) }},
		{"open to all", "every user can write it", func(file string) error { return os.Chmod(file, 0o666) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, second := world(t)
			write(t, first, "BARECLAW_CLAUDE=/tmp/theirs\n")
			write(t, second, "BARECLAW_HTTP_TOKEN=mine\n")
			if err := c.give(first); err != nil {
				roottest.Unavailable(t, "a .env %s: %v", c.name, err)
			}
			_, err := Load(AsGateway)
			problem, ok := errors.AsType[*Problem](err)
			if !ok || problem.Source != first || !strings.Contains(problem.Problem, c.want) {
				t.Fatalf("got %v, want a problem of %s that says %q", err, first, c.want)
			}
			if value, ok := os.LookupEnv("BARECLAW_CLAUDE"); ok {
				t.Errorf("it set BARECLAW_CLAUDE=%s all the same", value)
			}
			if files := Examine(AsGateway).Files; files[0].Distrust == "" || files[1].Distrust != "" {
				t.Errorf("found %+v", files)
			}
		})
	}
}

func TestBadDotEnv(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, text string
		line       string
	}{
		{"lone word", "A=1\nsesame\nB=2\n", ":2"},
		{"lone last word", "A=1\nsesame", ":2"},
		{"unclosed quote", "A=1\n\nB=\"sesame\nC=2\n", ":3"},
		{"first line", "se same!=1\n", ":1"},
		{"after a long value", "A='1\n2\n3'\n?\n", ":4"},
		{"name with a space", "SE SAME=1\n", ""},
		{"no name", "=sesame\n", ""},
		{"too large", strings.Repeat("A=sesame\n", maxDotEnvBytes/9+1), ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), ".env")
			write(t, file, row.text)
			vars, err := ReadDotEnv(file)
			problem, ok := errors.AsType[*Problem](err)
			if !ok || problem.Source != file+row.line {
				t.Fatalf("ReadDotEnv = %v, %v, want a problem of %s%s", vars, err, file, row.line)
			}
			if strings.Contains(strings.ToLower(err.Error()), "same") {
				t.Errorf("the content is in the error: %v", err)
			}
		})
	}
}

func FuzzDotEnv(f *testing.F) {
	for _, s := range []string{"A=1\n", "export A='x\ny'\n", "A=\"", "a: b", "\ufeffA=$B\n", "=\n", "A", "A=\x00"} {
		f.Add(s)
	}
	file := filepath.Join(f.TempDir(), ".env")
	f.Fuzz(func(t *testing.T, text string) {
		write(t, file, text)
		vars, err := ReadDotEnv(file)
		if _, ok := errors.AsType[*Problem](err); err != nil && !ok {
			t.Fatalf("ReadDotEnv(%q) = %v, which is no Problem", text, err)
		}
		for name := range vars {
			if !isVariableName(name) {
				t.Fatalf("ReadDotEnv(%q) sets %q", text, name)
			}
		}
	})
}
