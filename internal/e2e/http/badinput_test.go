package http

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/roottest"
)

// foreign sends a request with these headers; "Host" is the host.
func foreign(g *harness.Gateway, method, path string, header ...string) harness.Answer {
	g.T.Helper()
	var body io.Reader
	if method == "POST" {
		body = strings.NewReader(`{"text": "echo smuggled"}`)
	}
	req, err := http.NewRequest(method, g.Base+path, body)
	check.OK(g.T, err)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	a, err := g.Send(req)
	check.OK(g.T, err)
	return a
}

func TestOtherUsersAreRefused(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		roottest.Unavailable(t, "a caller of another user: only root can start one")
	}
	shell, err := exec.LookPath("bash")
	if err != nil {
		roottest.Unavailable(t, "a caller of another user: %v", err)
	}
	const nobody = 65534
	ask := func(g *harness.Gateway, header string) string {
		t.Helper()
		_, port, _ := strings.Cut(strings.TrimPrefix(g.Base, "http://"), ":")
		cmd := exec.Command(shell, "-c", `exec 3<>/dev/tcp/127.0.0.1/"$0" && printf "$1" >&3 && cat <&3`, port,
			`GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n`+header+`\r\n`)
		cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("ask as another user: %v: %s", err, out)
		}
		return string(out)
	}
	open := harness.NewMachine(t).Start()
	if got := ask(open, ""); !strings.HasPrefix(got, "HTTP/1.1 403 ") || !strings.Contains(got, `"code":"foreign_user"`) {
		t.Errorf("without a token another user gets %q", got)
	}
	open.Must("GET", "/health", nil, 200)
	guarded := harness.NewMachine(t, "BARECLAW_HTTP_TOKEN="+harness.Token).Start()
	if got := ask(guarded, ""); !strings.HasPrefix(got, "HTTP/1.1 401 ") {
		t.Errorf("without the token another user gets %q", got)
	}
	if got := ask(guarded, `Authorization: Bearer `+harness.Token+`\r\n`); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
		t.Errorf("with the token another user gets %q", got)
	}
}

// TestRuntimeDirectoryOfOthers starts and restarts a gateway with a runtime directory that
// others can enter: that is refused, with what mends it, and the directory stays as it is.
func TestRuntimeDirectoryOfOthers(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	for _, c := range []struct {
		mode  os.FileMode
		holds string
		want  string
	}{
		{0o755, "", "chmod 700 " + m.Path("run")},
		{0o777 | os.ModeSticky, "letter.txt", "BARECLAW_RUNTIME_DIR to a directory for the gateway alone"}, // as /tmp
		{0o755, "letter.txt", "BARECLAW_RUNTIME_DIR to a directory for the gateway alone"},                 // as /run
	} {
		check.OK(t, os.Chmod(m.Path("run"), c.mode))
		if c.holds != "" {
			m.Touch("run/" + c.holds)
		}
		if said := failsToStart(m, harness.ExitFailure); !strings.Contains(said, c.want) || strings.Contains(said, "chmod") != strings.Contains(c.want, "chmod") {
			t.Errorf("with mode %v and %q in it, it says %q, want %q", c.mode, c.holds, said, c.want)
		}
		if info, err := os.Stat(m.Path("run")); err != nil || info.Mode() != c.mode|os.ModeDir {
			t.Errorf("its mode was %v and is %v (%v)", c.mode, info.Mode(), err)
		}
	}
	check.OK(t, errors.Join(os.Chmod(m.Path("run"), 0o700), os.Remove(m.Path("run/letter.txt"))))
	g := m.Start()
	check.OK(t, os.Chmod(m.Path("run"), 0o755))
	if a := g.Must("POST", "/restart", nil, 503); !strings.Contains(a.Str("error"), "chmod 700 "+m.Path("run")) {
		t.Errorf("restart is refused with %s", a.Body)
	}
	g.Say("http", "echo hello").Want(t, "hello")
}

func TestFilesAreClosedToOthers(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	for _, dir := range []string{"state", "run"} { // as on a first run
		check.OK(t, os.Remove(m.Path(dir)))
	}
	g := m.Start("sh", "-c", `umask 0 && exec "$0" "$@"`) // nothing relies on it
	g.Say("http", "echo hello").Want(t, "hello")
	g.Say("http", "big 400000") // more than a host keeps in memory
	files := 0
	for _, root := range []string{"state", "run"} {
		err := filepath.WalkDir(m.Path(root), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // temporary
			}
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return nil //nolint:nilerr // temporary
			}
			files++
			switch want := info.Mode().Perm() &^ 0o600; {
			case info.IsDir() && info.Mode().Perm() != 0o700:
				t.Errorf("%s has mode %v", path, info.Mode())
			case info.Mode()&fs.ModeSocket != 0 && info.Mode().Perm() != 0o600:
				t.Errorf("%s has mode %v, want 0600", path, info.Mode())
			case info.Mode().IsRegular() && want != 0:
				t.Errorf("%s has mode %v", path, info.Mode())
			}
			return nil
		})
		check.OK(t, err)
	}
	if files < 8 {
		t.Errorf("only %d files were looked at", files)
	}
	if info, err := os.Stat(m.Path("work/.bareclaw-sessions.json")); err != nil || info.Mode() != 0o600 {
		t.Errorf("session file: %v, %v", info, err)
	}
	g.Balanced()
}

func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	const key = "sk-ant-very-secret"
	m := harness.NewMachine(t, "BARECLAW_HTTP_TOKEN="+harness.Token, "ANTHROPIC_API_KEY="+key, "ANTHROPIC_AUTH_TOKEN="+key, "BARECLAW_LOG_LEVEL=debug",
		"CLAUDE_CODE_SSE_PORT=1", "CLAUDECODE=1", "NOTIFY_SOCKET=", "MY_TOOL=mine")
	g := m.Start().Bearer()
	for name, want := range map[string]string{
		"BARECLAW_HTTP_TOKEN": "(unset)", "BARECLAW_STATE_DIR": "(unset)", "ANTHROPIC_API_KEY": "(unset)", "ANTHROPIC_AUTH_TOKEN": "(unset)",
		"CLAUDECODE": "(unset)", "CLAUDE_CODE_SSE_PORT": "(unset)", "MY_TOOL": "mine", "HOME": m.Path("home"),
	} {
		g.Say("http", "env "+name).Want(t, want)
	}
	if args := g.Say("http", "args").Str("text"); strings.Contains(args, harness.Token) || strings.Contains(args, key) {
		t.Errorf("claude's arguments are %s", args)
	}
	foreign(g, "GET", "/health?token="+harness.Token)
	foreign(g, "GET", "/health", "Authorization", "Bearer "+harness.Token+"-wrong", "Origin", "http://evil.example")
	g.Must("POST", "/message", `{"text": 1, "token": "`+harness.Token+`"}`, 400)
	g.Say("http", "die 1") // an end with last words
	secrets := []string{harness.Token, key}
	files := append(m.Glob("state/*"), m.Glob("state/hosts/*")...)
	files = append(files, m.Glob("work/.*")...)
	for _, h := range m.Hosts() {
		for _, pid := range []int{h.PID, h.ClaudePID} {
			files = append(files, fmt.Sprintf("/proc/%d/cmdline", pid), fmt.Sprintf("/proc/%d/environ", pid))
		}
	}
	files = append(files, fmt.Sprintf("/proc/%d/cmdline", g.Cmd.Process.Pid))
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // a directory, or gone, or another system
		}
		for _, secret := range secrets {
			// The ledger's own record of the request above may not have it either: it was refused.
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s has a secret", file)
			}
		}
	}
	for _, secret := range secrets {
		if strings.Contains(m.Log.String(), secret) {
			t.Errorf("the log has a secret")
		}
	}
	if !strings.Contains(m.Log.String(), `"level":"DEBUG"`) {
		t.Error("the log has no debug lines, so this proves little")
	}
	g.Balanced()
}
