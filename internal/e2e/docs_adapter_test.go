package e2e

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
)

// TestAdapterExample compiles the adapter of docs/adapters.md as it stands there
// and talks to it. The program around it is docs/testdata/lineexample.
func TestAdapterExample(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	r := startLineExample(m)

	odd := dialLine(m, "not a name")
	odd.expect("! ")

	ann := dialLine(m, "ann")
	ann.say("hello")
	ann.expect("< ok: hello")

	// What waits during a turn is answered together, and once.
	ann.say("wait " + m.path("go"))
	m.eventually("the turn runs", func() bool { return m.begun("wait ") == 1 })
	ann.expect("~ accepted")
	ann.expect("~ working")
	ann.say("echo two", "three", "four")
	for range 3 {
		ann.expect("~ accepted")
	}
	m.touch("go")
	ann.expect("< ")
	ann.expect("< two")
	ann.say("five")
	ann.expect("< ok: five")

	r.push("news")
	ann.expect("< news")
	if hosts := m.hosts(); len(hosts) != 1 || hosts["line-ann"].PID == 0 {
		t.Errorf("hosts are %v, want one of line-ann", hosts)
	}
	r.end()
	if hosts := m.hosts(); len(hosts) != 0 {
		t.Errorf("hosts left: %v", hosts)
	}
}

// lineExample returns the adapter of the document, checked for form, and checks
// that the program wires it as the document says.
func lineExample(t testing.TB, program string) string {
	t.Helper()
	var source, wiring string
	for _, b := range blocks(t, "docs/adapters.md") {
		switch {
		case b.lang != "go":
		case strings.Contains(b.text, "\npackage line\n"):
			source = b.text
		default:
			wiring = b.text
		}
	}
	if formatted, err := format.Source([]byte(source)); err != nil || string(formatted) != source {
		t.Fatalf("the example in docs/adapters.md is not as gofmt would have it: %v", err)
	}
	b, err := os.ReadFile(filepath.Join(program, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(wiring) {
		if !strings.Contains(string(b), "\t"+line) {
			t.Errorf("docs/adapters.md says %q, which %s does not do", line, program)
		}
	}
	return source
}

// buildLineExample builds the program, with an overlay that puts the adapter
// where the document says it is.
func buildLineExample(m *machine) string {
	m.t.Helper()
	const program = "./docs/testdata/lineexample"
	source := lineExample(m.t, program)
	target, err := filepath.Abs("adapters/line/line.go")
	if err != nil {
		m.t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{target: m.path("line.go")}})
	if err != nil {
		m.t.Fatal(err)
	}
	for name, content := range map[string]string{"line.go": source, "overlay.json": string(overlay)} {
		if err := os.WriteFile(m.path(name), []byte(content), 0o600); err != nil {
			m.t.Fatal(err)
		}
	}
	out, err := exec.Command("go", "build", "-overlay", m.path("overlay.json"), "-o", m.path("lineexample"), program).CombinedOutput()
	if err != nil {
		m.t.Fatalf("docs/adapters.md does not compile: %v\n%s", err, out)
	}
	return m.path("lineexample")
}

// A running is the example program.
type running struct {
	m     *machine
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

// startLineExample starts the program. Its state is where that of a daemon would
// be, so that the machine finds its hosts.
func startLineExample(m *machine) *running {
	m.t.Helper()
	self := bareclaw(m.t)
	cmd := exec.Command(buildLineExample(m), m.path("state"), self, fakeClaude(m.t))
	cmd.Env = append(slices.Clone(m.env), "CLAUDE_CONFIG_DIR="+m.path("state/claude"))
	cmd.Stderr = m.log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = cmd.Process.Kill() })
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		m.t.Fatalf("the example did not get ready: %q, %v", line, err)
	}
	return &running{m: m, cmd: cmd, stdin: stdin}
}

func (r *running) push(text string) {
	r.m.t.Helper()
	if _, err := io.WriteString(r.stdin, text+"\n"); err != nil {
		r.m.t.Fatal(err)
	}
}

func (r *running) end() {
	r.m.t.Helper()
	_ = r.stdin.Close()
	if err := r.cmd.Wait(); err != nil {
		r.m.t.Errorf("the example ended with %v", err)
	}
}

// A lineClient is the other end of a conversation.
type lineClient struct {
	m  *machine
	c  net.Conn
	in *bufio.Reader
}

func dialLine(m *machine, name string) *lineClient {
	m.t.Helper()
	c, err := net.Dial("unix", m.path("state/line.sock"))
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = c.Close() })
	l := &lineClient{m: m, c: c, in: bufio.NewReader(c)}
	l.say(name)
	return l
}

func (l *lineClient) say(lines ...string) {
	l.m.t.Helper()
	if _, err := io.WriteString(l.c, strings.Join(lines, "\n")+"\n"); err != nil {
		l.m.t.Fatal(err)
	}
}

// expect reads the next line, leaving out those about progress that are not
// expected.
func (l *lineClient) expect(beginning string) {
	l.m.t.Helper()
	_ = l.c.SetReadDeadline(time.Now().Add(patience))
	for {
		line, err := l.in.ReadString('\n')
		if err != nil {
			l.m.t.Fatalf("no line %q came: %v", beginning, err)
		}
		if strings.HasPrefix(line, beginning) {
			return
		}
		if !strings.HasPrefix(line, "~ ") {
			l.m.t.Fatalf("line is %q, want it to begin with %q", line, beginning)
		}
	}
}
