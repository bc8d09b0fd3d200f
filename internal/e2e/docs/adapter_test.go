package docs

import (
	"bufio"
	"encoding/json"
	"go/format"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// TestAdapterExample compiles the adapter of docs/adapters.md as it stands there
// and talks to it. The program around it is docs/testdata/lineexample.
func TestAdapterExample(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	r := startLineExample(m)

	odd := dialLine(m, "not a name")
	odd.expect("! ")

	ann := dialLine(m, "ann")
	ann.say("hello")
	ann.expect("< ok: hello")

	// What waits during a turn is answered together, and once.
	ann.say("wait " + m.Path("go"))
	m.Eventually("the turn runs", func() bool { return m.Begun("wait ") == 1 })
	ann.expect("~ accepted")
	ann.expect("~ working")
	ann.say("echo two", "three", "four")
	for range 3 {
		ann.expect("~ accepted")
	}
	m.Touch("go")
	ann.expect("< ")
	ann.expect("< two")
	ann.say("five")
	ann.expect("< ok: five")

	r.push("news")
	ann.expect("< news")
	if hosts := m.Hosts(); len(hosts) != 1 || hosts["line-ann"].PID == 0 {
		t.Errorf("hosts are %v, want one of line-ann", hosts)
	}
	r.end()
	if hosts := m.Hosts(); len(hosts) != 0 {
		t.Errorf("hosts left: %v", hosts)
	}
}

// lineExample returns the adapter of the document, checked for form, and checks
// that the program wires it as the document says.
func lineExample(t testing.TB, program string) string {
	t.Helper()
	var source, wiring string
	for _, b := range harness.Blocks(t, "docs/adapters.md") {
		switch {
		case b.Lang != "go":
		case strings.Contains(b.Text, "\npackage line\n"):
			source = b.Text
		default:
			wiring = b.Text
		}
	}
	if formatted, err := format.Source([]byte(source)); err != nil || string(formatted) != source {
		t.Fatalf("the example in docs/adapters.md is not as gofmt would have it: %v", err)
	}
	b, err := os.ReadFile(filepath.Join(program, "main.go"))
	check.OK(t, err)
	for line := range strings.Lines(wiring) {
		if !strings.Contains(string(b), "\t"+line) {
			t.Errorf("docs/adapters.md says %q, which %s does not do", line, program)
		}
	}
	return source
}

// buildLineExample builds the program, with an overlay that puts the adapter
// where the document says it is.
func buildLineExample(m *harness.Machine) string {
	m.T.Helper()
	const program = "./docs/testdata/lineexample"
	source := lineExample(m.T, program)
	target, err := filepath.Abs("adapters/line/line.go")
	check.OK(m.T, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{target: m.Path("line.go")}})
	check.OK(m.T, err)
	for name, content := range map[string]string{"line.go": source, "overlay.json": string(overlay)} {
		check.OK(m.T, os.WriteFile(m.Path(name), []byte(content), 0o600))
	}
	out, err := exec.Command("go", "build", "-overlay", m.Path("overlay.json"), "-o", m.Path("lineexample"), program).CombinedOutput()
	if err != nil {
		m.T.Fatalf("docs/adapters.md does not compile: %v\n%s", err, out)
	}
	return m.Path("lineexample")
}

// A running is the example program.
type running struct {
	m     *harness.Machine
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

// startLineExample starts the program. Its state is where that of a daemon would
// be, so that the machine finds its hosts.
func startLineExample(m *harness.Machine) *running {
	m.T.Helper()
	self := harness.Bareclaw(m.T)
	cmd := exec.Command(buildLineExample(m), m.Path("state"), self, harness.FakeClaude(m.T))
	cmd.Env = append(slices.Clone(m.Env), "CLAUDE_CONFIG_DIR="+m.Path("state/claude"))
	cmd.Stderr = m.Log
	stdin, err := cmd.StdinPipe()
	check.OK(m.T, err)
	stdout, err := cmd.StdoutPipe()
	check.OK(m.T, err)
	check.OK(m.T, cmd.Start())
	m.T.Cleanup(func() { _ = cmd.Process.Kill() })
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		m.T.Fatalf("the example did not get ready: %q, %v", line, err)
	}
	return &running{m: m, cmd: cmd, stdin: stdin}
}

func (r *running) push(text string) {
	r.m.T.Helper()
	if _, err := io.WriteString(r.stdin, text+"\n"); err != nil {
		r.m.T.Fatal(err)
	}
}

func (r *running) end() {
	r.m.T.Helper()
	_ = r.stdin.Close()
	if err := r.cmd.Wait(); err != nil {
		r.m.T.Errorf("the example ended with %v", err)
	}
}

// A lineClient is the other end of a conversation.
type lineClient struct {
	m  *harness.Machine
	c  net.Conn
	in *bufio.Reader
}

func dialLine(m *harness.Machine, name string) *lineClient {
	m.T.Helper()
	c, err := net.Dial("unix", m.Path("state/line.sock"))
	check.OK(m.T, err)
	m.T.Cleanup(func() { _ = c.Close() })
	l := &lineClient{m: m, c: c, in: bufio.NewReader(c)}
	l.say(name)
	return l
}

func (l *lineClient) say(lines ...string) {
	l.m.T.Helper()
	if _, err := io.WriteString(l.c, strings.Join(lines, "\n")+"\n"); err != nil {
		l.m.T.Fatal(err)
	}
}

// expect reads the next line, leaving out those about progress that are not
// expected.
func (l *lineClient) expect(beginning string) {
	l.m.T.Helper()
	_ = l.c.SetReadDeadline(time.Now().Add(harness.Patience))
	for {
		line, err := l.in.ReadString('\n')
		if err != nil {
			l.m.T.Fatalf("no line %q came: %v", beginning, err)
		}
		if strings.HasPrefix(line, beginning) {
			return
		}
		if !strings.HasPrefix(line, "~ ") {
			l.m.T.Fatalf("line is %q, want it to begin with %q", line, beginning)
		}
	}
}
