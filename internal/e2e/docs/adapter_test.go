package docs

import (
	"bufio"
	"encoding/json"
	"go/format"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/testkit/check"
)

// TestAdapterExample builds the gateway with the adapter of docs/adapters.md as it stands there,
// with its row and its section of settings, and talks to it, also after a restart.
func TestAdapterExample(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Env = append(m.Env, "BARECLAW_LINE_SOCKET="+m.Path("state/line.sock"))
	m.Program = buildWithLine(m)
	g := m.Start()
	if !strings.Contains(m.Command(exitcode.OK, "status").Out.String(), "line") {
		t.Error("status does not show the adapter")
	}

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

	g.Must("POST", "/send", harness.Obj{"channel": "line-ann", "text": "news"}, http.StatusOK)
	ann.expect("< news")
	if hosts := m.Hosts(); len(hosts) != 1 || hosts["line-ann"].PID == 0 {
		t.Errorf("hosts are %v, want one of line-ann", hosts)
	}

	generation := g.Generation()
	check.OK(t, g.Cmd.Process.Signal(syscall.SIGHUP))
	g.Restarted(generation)
	again := dialLine(m, "ann")
	again.say("six")
	again.expect("< ok: six")
}

// A lineExample is the go blocks of the document.
type lineExample struct {
	source  string // the adapter
	row     string // of kinds.All
	section string // the file of its settings
	field   string // of config.Config
}

// readLineExample returns the go blocks of the document.
func readLineExample(t testing.TB) (e lineExample) {
	t.Helper()
	for _, b := range harness.Blocks(t, "docs/adapters.md") {
		switch {
		case b.Lang != "go":
		case strings.Contains(b.Text, "\npackage line\n"):
			e.source = b.Text
		case strings.HasPrefix(b.Text, "package config\n"):
			e.section = b.Text
		case strings.HasPrefix(b.Text, "Line Line"):
			e.field = b.Text
		default:
			e.row = b.Text
		}
	}
	for _, file := range []string{e.source, e.section} {
		if formatted, err := format.Source([]byte(file)); err != nil || string(formatted) != file {
			t.Fatalf("the example in docs/adapters.md is not as gofmt would have it: %v", err)
		}
	}
	return e
}

// buildWithLine builds the gateway, with an overlay that puts the adapter and its settings
// where the document says they are, and adds its row and its section.
func buildWithLine(m *harness.Machine) (program string) {
	m.T.Helper()
	e := readLineExample(m.T)
	overlay := map[string]string{}
	replace := func(path, text string) {
		target, err := filepath.Abs(path)
		check.OK(m.T, err)
		overlay[target] = m.Path(strings.ReplaceAll(path, "/", "-"))
		check.OK(m.T, os.WriteFile(overlay[target], []byte(text), 0o600))
	}
	replace("adapters/line/line.go", e.source)
	replace("adapters/kinds/kinds.go", insert(m.T, "adapters/kinds/kinds.go",
		"import (", "\"bareclaw/adapters/line\"\n",
		"return []adapters.Kind{", e.row))
	replace("core/config/line.go", e.section)
	replace("core/config/config.go", insert(m.T, "core/config/config.go",
		"type Config struct {", e.field))
	b, err := json.Marshal(map[string]any{"Replace": overlay})
	check.OK(m.T, err)
	check.OK(m.T, os.WriteFile(m.Path("overlay.json"), b, 0o600))
	out, err := exec.Command("go", "build", "-overlay", m.Path("overlay.json"), "-o", m.Path("bareclaw"), ".").CombinedOutput()
	if err != nil {
		m.T.Fatalf("docs/adapters.md does not compile: %v\n%s", err, out)
	}
	return m.Path("bareclaw")
}

// insert returns a source file with texts inserted: each behind a text that stands in the file once.
func insert(t testing.TB, path string, places ...string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	check.OK(t, err)
	text := string(b)
	for pair := range slices.Chunk(places, 2) {
		if strings.Count(text, pair[0]) != 1 {
			t.Fatalf("%s has %q %d times", path, pair[0], strings.Count(text, pair[0]))
		}
		text = strings.Replace(text, pair[0], pair[0]+"\n"+pair[1], 1)
	}
	return text
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
