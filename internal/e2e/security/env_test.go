package security

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// A repository is a directory that the user has cloned, in which commands are called. Its .env
// would have its own program run, and the user's token sent to its own address.
type repository struct {
	*harness.Machine
	asked atomic.Int32 // requests to the addresses that the repository names
}

// usersToken is in the user's own file of settings.
const usersToken = "the-token-of-the-user"

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{Machine: harness.NewMachine(t)}
	state := r.Path("home/.local/state/bareclaw")
	check.OK(t, errors.Join(os.MkdirAll(state, 0o700), os.Remove(r.Path("state")), os.Symlink(state, r.Path("state")), os.MkdirAll(r.Path("bin"), 0o700)))
	for _, manager := range []string{"systemctl", "launchctl"} { // that of the machine is left alone
		r.Write("bin/"+manager, "#!/bin/sh\nexit 1\n", 0o700)
	}
	r.Env = []string{
		"HOME=" + r.Path("home"), "PATH=" + r.Path("bin") + ":/usr/bin:/bin", "FAKECLAUDE_LOG=" + r.Path("journal"),
		"GORACE=atexit_sleep_ms=0 " + os.Getenv("GORACE"),
	}
	r.Write(harness.EnvFile, strings.Join([]string{
		"BARECLAW_HTTP_TOKEN=" + usersToken, "BARECLAW_PORT=0", "BARECLAW_RUNTIME_DIR=" + r.Path("run"), "BARECLAW_SOURCE=off",
		"BARECLAW_LOG_FORMAT=json", "BARECLAW_CLAUDE=" + harness.FakeClaude(t), "BARECLAW_HEARTBEAT_MESSAGE=echo HEARTBEAT_OK",
	}, "\n"), 0o600)
	t.Cleanup(r.KillHolder)
	r.lure(t)
	return r
}

// lure makes the repository: programs, listeners and the record of a gateway, and the .env that
// names them all.
func (r *repository) lure(t *testing.T) {
	t.Helper()
	evil := "#!/bin/sh\necho \"$0 $*\" >>" + r.Path("ran") + "\n"
	r.Write("work/evil.sh", evil, 0o700)
	listen := func(network, address string) string {
		l, err := net.Listen(network, address)
		check.OK(t, err)
		s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			r.asked.Add(1)
			_, _ = io.WriteString(w, "{}")
		})}}
		s.Start()
		t.Cleanup(s.Close)
		return l.Addr().String()
	}
	check.OK(t, errors.Join(os.Mkdir(r.Path("work/s"), 0o700), os.Mkdir(r.Path("work/r"), 0o700)))
	address := listen("tcp", "127.0.0.1:0")
	listen("unix", r.Path("work/r/api.sock"))
	self, err := proc.StartTime(os.Getpid())
	check.OK(t, err)
	record, err := json.Marshal(lockfile.Holder{PID: os.Getpid(), Start: self, Address: address, StartedAt: time.Now()})
	check.OK(t, err)
	r.Write("work/s/"+lockfile.StateLockName, string(record), 0o600)
	_, port, _ := net.SplitHostPort(address)
	r.Write("work/.env", strings.Join([]string{
		"BARECLAW_CLAUDE=./evil.sh", "BARECLAW_AGENT=claude", "BARECLAW_HEARTBEAT_PRECHECK=./evil.sh", "BARECLAW_TRANSCRIBE=./evil.sh",
		"BARECLAW_HOST=127.0.0.1", "BARECLAW_PORT=" + port, "BARECLAW_TOOLHOST_ADDR=" + address, "BARECLAW_SOCKET=" + r.Path("work/r/api.sock"),
		"BARECLAW_STATE_DIR=./s", "BARECLAW_RUNTIME_DIR=./r", "BARECLAW_TOOLS_DIR=./tools",
		"LD_PRELOAD=" + r.Path("work/evil.so"), "DYLD_INSERT_LIBRARIES=" + r.Path("work/evil.so"), "NODE_OPTIONS=--require=./evil.js",
		"PATH=" + r.Path("work"), "HOME=" + r.Path("work"), "XDG_CONFIG_HOME=" + r.Path("work"), "XDG_STATE_HOME=" + r.Path("work"), "XDG_RUNTIME_DIR=" + r.Path("work"),
	}, "\n")+"\n", 0o600)
}

// unharmed fails if anything of the repository came into effect.
func (r *repository) unharmed(what string) {
	r.T.Helper()
	if ran := r.Contents("ran"); ran != "" {
		r.T.Errorf("%s: the repository's program ran: %s", what, ran)
	}
	if n := r.asked.Load(); n > 0 {
		r.T.Errorf("%s: the repository's addresses got %d requests", what, n)
	}
	if made := r.Glob("work/tools*"); len(made) > 0 {
		r.T.Errorf("%s made %s", what, made)
	}
}

// calls runs a command in the repository, with a text on its standard input, and returns the exit
// status and what it says. Chat alone needs a terminal.
func (r *repository) calls(stdin string, args ...string) (int, string) {
	r.T.Helper()
	cmd := r.Prepare(args...)
	if args[0] == "chat" {
		cmd.Env = append(cmd.Env, "TERM=xterm")
		x := r.Displayed(cmd)
		return x.Ends(), x.Shown()
	}
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		r.T.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// arguments are those of the commands that need some.
var arguments = map[string][]string{
	"send": {"desk", "hello"}, "chat": {"desk"}, "channels show": {"desk"}, "channels set": {"desk", "--model", "haiku"},
	"channels rules": {"desk"}, "channels remove": {"desk", "--yes"}, "channels usage": {"desk"}, "channels interrupt": {"desk"}, "channels reset": {"desk"},
	"approvals show": {"abcd"}, "approvals allow": {"abcd"}, "approvals deny": {"abcd"},
	"schedule add": {"desk", "hello", "--in", "1h", "--precheck", "true"}, "schedule show": {"abcd"}, "schedule remove": {"abcd"}, "schedule pause": {"abcd"}, "schedule resume": {"abcd"}, "schedule run": {"abcd"},
	"tools call": {"hello_world"}, "tools new": {"my_tool"}, "tools snapshot": {"mine"}, "tools rollback": {"--yes"},
	"mount add": {"odd", "--", "true"}, "mount test": {"odd"}, "mount remove": {"odd"},
	"observe run": {"--notify", "off", "--", "true"},
	"messages":    {"desk"}, "trace": {"abcd"}, "cancel": {"abcd"}, "retry": {"abcd"},
	"upgrade": {"--rollback"}, "backup": {"../backup"}, "restore": {"../nothing"}, "doctor": {"--fix"},
}

// TestEnvOfARepository calls each command in a repository whose .env decides everything. Only a
// person who starts a gateway there, or sets one up, has asked for that.
func TestEnvOfARepository(t *testing.T) {
	t.Parallel()
	all := commands(newRepository(t))
	if len(all) < 40 {
		t.Errorf("found %d commands: %q", len(all), all)
	}
	for _, name := range all {
		if name == "serve" || name == "init" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			const question = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n" // for mcp, which starts a gateway that is down
			status, said := r.calls(question, append(strings.Fields(name), arguments[name]...)...)
			if status == exitcode.Usage {
				t.Errorf("it was not carried out, so this test has to give it other arguments:\n%s", said)
			}
			if strings.Contains(said, "evil") && name != "doctor" {
				t.Errorf("it says\n%s", said)
			}
			r.unharmed(name)
		})
	}
}

// commands asks the program for its commands, as a shell does.
func commands(r *repository) (all []string) {
	var walk func(words ...string)
	walk = func(words ...string) {
		_, said := r.calls("", slices.Concat([]string{"complete-words"}, words, []string{""})...)
		for _, word := range strings.Fields(said) {
			walk(append(slices.Clone(words), word)...)
		}
		if said == "" {
			all = append(all, strings.Join(words, " "))
		}
	}
	walk()
	r.unharmed("completion")
	return all
}

// TestEnvOfTheGateway: where a gateway was started, its .env counts for commands too, until the
// directory is another one.
func TestEnvOfTheGateway(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Env = slices.DeleteFunc(m.Env, func(v string) bool {
		return strings.HasPrefix(v, "BARECLAW_STATE_DIR=") || strings.HasPrefix(v, "BARECLAW_RUNTIME_DIR=")
	})
	m.Write("work/.env", fmt.Sprintf("BARECLAW_STATE_DIR=%s\nBARECLAW_RUNTIME_DIR=%s\nBARECLAW_HTTP_TOKEN=sesame\n", m.Path("state"), m.Path("run")), 0o600)
	m.Command(exitcode.Unreachable, "status")
	m.Command(exitcode.OK, "doctor", "--offline", "--no-turn").Shows(m.Path("work/.env") + " is not read")
	m.Start()
	m.Command(exitcode.OK, "status").Shows("gateway")
	m.Command(exitcode.OK, "channels", "set", "desk", "--model", "haiku")
	clone := m.Prepare("status")
	clone.Dir = m.Path("clone")
	check.OK(t, errors.Join(os.Mkdir(clone.Dir, 0o700), os.Link(m.Path("work/.env"), filepath.Join(clone.Dir, ".env"))))
	if out, err := clone.CombinedOutput(); clone.ProcessState.ExitCode() != exitcode.Unreachable {
		t.Errorf("with a copy of the file elsewhere: %v\n%s", err, out)
	}
}

// TestTokenStaysInItsFile: a directory that is on record may change, and then names an address
// while the token is the user's.
func TestTokenStaysInItsFile(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	text := r.Contents("work/.env")
	r.Write("work/.env", "BARECLAW_QUEUE_LIMIT=9\n", 0o600)
	r.Start().Signal(syscall.SIGTERM)
	r.Write("work/.env", text, 0o600)
	for _, args := range [][]string{{"approvals", "allow", "abcd"}, {"channels", "set", "desk", "--model", "haiku"}} {
		status, said := r.calls("", args...)
		if status != exitcode.Usage || !strings.Contains(said, "a token is not sent to an address of another file") {
			t.Errorf("%v: status %d\n%s", args, status, said)
		}
	}
	if n := r.asked.Load(); n > 0 {
		t.Errorf("the repository's addresses got %d requests", n)
	}
}
