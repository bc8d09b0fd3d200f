package realclaude_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/testkit/messagesapi"
	"bareclaw/internal/testkit/realclaude"
)

// patience is how long a test waits for the CLI, which needs seconds at most.
const patience = 60 * time.Second

const onePixelPNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

// A cli is one running claude in stream-json mode.
type cli struct {
	t     *testing.T
	stdin io.WriteCloser
	lines chan line // closed at the end of stdout
}

// line is what the tests read of the CLI's output.
type line struct {
	Type      string
	Subtype   string
	Result    string
	IsError   bool     `json:"is_error"`
	UserUUIDs []string `json:"user_message_uuids"`
	Response  struct {
		Subtype   string
		RequestID string `json:"request_id"`
		Response  struct{ PID int }
	}
	Event struct {
		Delta struct{ Text string }
	}
}

func start(t *testing.T, api *messagesapi.Server, args ...string) *cli {
	t.Helper()
	dir := t.TempDir()
	args = append([]string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages",
		"--permission-prompt-tool", "stdio", "--strict-mcp-config"}, args...)
	cmd := exec.Command(realclaude.Path(t), args...)
	cmd.Env, cmd.Dir = realclaude.Env(dir, api.URL), dir
	cmd.WaitDelay = time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &cli{t: t, stdin: stdin, lines: make(chan line)}
	read := make(chan error, 1)
	go func() { read <- c.read(stdout) }()
	t.Cleanup(func() {
		_ = stdin.Close() // asks the CLI to end
		kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		if t.Failed() {
			_ = cmd.Process.Kill()
		}
		for range c.lines {
		}
		if err := errors.Join(<-read, cmd.Wait()); err != nil {
			t.Logf("the CLI ended: %v\n%s", err, stderr.String())
		}
	})
	return c
}

func (c *cli) read(stdout io.Reader) error {
	defer close(c.lines)
	scanner := bufio.NewScanner(stdout)
	scanner.Buffer(nil, 10<<20)
	for scanner.Scan() {
		var l line
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			return err
		}
		c.lines <- l
	}
	return scanner.Err()
}

func (c *cli) send(v any) {
	c.t.Helper()
	if err := json.NewEncoder(c.stdin).Encode(v); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cli) initialize() {
	c.t.Helper()
	c.send(map[string]any{"type": "control_request", "request_id": "init", "request": map[string]any{"subtype": "initialize"}})
	l := c.until("the answer to initialize", func(l line) bool { return l.Type == "control_response" })
	if l.Response.RequestID != "init" || l.Response.Subtype != "success" || l.Response.Response.PID == 0 {
		c.t.Fatalf("initialize: %+v", l.Response)
	}
}

func (c *cli) say(uuid string, content any) {
	c.t.Helper()
	c.send(map[string]any{"type": "user", "uuid": uuid, "message": map[string]any{"role": "user", "content": content}})
}

// result waits for the next result and checks whom it answers and how.
func (c *cli) result(uuid, text string) {
	c.t.Helper()
	l := c.until("a result", func(l line) bool { return l.Type == "result" })
	if !slices.Equal(l.UserUUIDs, []string{uuid}) || l.Result != text || l.IsError || l.Subtype != "success" {
		c.t.Errorf("result %+v, want %q for %s", l, text, uuid)
	}
}

func (c *cli) until(what string, is func(line) bool) line {
	c.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case l, ok := <-c.lines:
			if !ok {
				c.t.Fatalf("the CLI ended before %s", what)
			}
			if is(l) {
				return l
			}
		case <-timeout:
			c.t.Fatalf("no %s", what)
		}
	}
}

const (
	uuid1 = "11111111-1111-4111-8111-111111111111"
	uuid2 = "22222222-2222-4222-8222-222222222222"
	uuid3 = "33333333-3333-4333-8333-333333333333"
	uuid4 = "44444444-4444-4444-8444-444444444444"
)

func TestRealCLITurns(t *testing.T) {
	t.Parallel()
	api := messagesapi.Start(t)
	c := start(t, api, "--allowedTools", "Bash")
	c.initialize()
	c.say(uuid1, "[channel: http, adapter: http]\necho one")
	c.result(uuid1, "one")
	c.say(uuid2, "echo two")
	c.result(uuid2, "two")

	file := filepath.Join(t.TempDir(), "made")
	c.say(uuid3, "tool:bash touch "+file+" && ls "+file)
	c.result(uuid3, "final after 1 call(s): "+file)

	seen := api.Requests()
	if len(seen) != 4 {
		t.Fatalf("%d requests, want one per turn and one more for the tool's result", len(seen))
	}
	last := seen[3]
	want := []string{"[channel: http, adapter: http]\necho one", "echo two", "tool:bash touch " + file + " && ls " + file}
	if !slices.Equal(last.UserTexts, want) {
		t.Errorf("user texts %q, want %q", last.UserTexts, want)
	}
	if len(last.ToolResults) != 1 || last.ToolResults[0].Text != file || last.ToolResults[0].IsError || !last.Stream {
		t.Errorf("tool results %+v, want the file's name", last.ToolResults)
	}
	for _, s := range seen {
		if s.Rejected != "" {
			t.Errorf("request %d was refused: %s", s.N, s.Rejected)
		}
	}
}

func TestRealCLIAtTheGate(t *testing.T) {
	t.Parallel()
	api := messagesapi.Start(t)
	c := start(t, api)
	c.initialize()
	c.say(uuid1, "gate door first second")
	c.until("the first half", func(l line) bool { return l.Type == "stream_event" && l.Event.Delta.Text == "first " })
	select {
	case <-api.Held("door"):
	case <-time.After(patience):
		t.Fatal("nothing is held at the gate")
	}
	api.Release("door")
	c.result(uuid1, "first second")

	c.say(uuid2, []any{
		map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": "image/png", "data": onePixelPNG}},
		map[string]any{"type": "text", "text": "image"},
	})
	c.result(uuid2, "1 image(s): image/png")
	c.say(uuid3, "size\n"+strings.Repeat("x", 1<<20))
	c.result(uuid3, "1048581 bytes")
	c.say(uuid4, "error 403")
	l := c.until("a result", func(l line) bool { return l.Type == "result" })
	if !l.IsError || !strings.Contains(l.Result, "scripted error 403") {
		t.Errorf("result %+v, want the API's error", l)
	}
}
