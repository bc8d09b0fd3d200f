package oddserver

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/internal/testkit/check"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// A client speaks with a server by lines.
type client struct {
	t      *testing.T
	cmd    *exec.Cmd
	input  io.WriteCloser // of the server
	output *bufio.Reader
	stderr *strings.Builder // to be read after wait
}

// start starts a server, which is killed with the test.
func start(t *testing.T, modes ...string) *client {
	t.Helper()
	command, args := Command(t, modes...)
	c := &client{
		t:      t,
		cmd:    exec.Command(command, args...),
		stderr: &strings.Builder{},
	}
	c.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TEST_COLOUR=green"}
	c.cmd.Stderr = c.stderr
	var err error
	c.input, err = c.cmd.StdinPipe()
	check.OK(t, err)
	output, err := c.cmd.StdoutPipe()
	check.OK(t, err)
	c.output = bufio.NewReader(output)
	check.OK(t, c.cmd.Start())
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	})
	return c
}

// send sends a line.
func (c *client) send(line string) {
	c.t.Helper()
	_, err := io.WriteString(c.input, line+"\n")
	check.OK(c.t, err)
}

// request sends a request.
func (c *client) request(id int, method string, params any) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, encode(params)))
}

// call sends a call of act.
func (c *client) call(id int, args Args) {
	c.t.Helper()
	c.request(id, "tools/call", map[string]any{"name": Act, "arguments": args})
}

// line returns the next line of the server.
func (c *client) line() string {
	c.t.Helper()
	line, err := c.output.ReadString('\n')
	check.OK(c.t, err)
	return strings.TrimSuffix(line, "\n")
}

// want holds that the next lines have texts.
func (c *client) want(texts ...string) {
	c.t.Helper()
	for _, text := range texts {
		if line := c.line(); !strings.Contains(line, text) {
			c.t.Errorf("the server says %.500s, want %q", line, text)
		}
	}
}

// wait waits until the server has ended, and returns what it has still said, and its status.
func (c *client) wait() (rest string, status int) {
	c.t.Helper()
	said, err := io.ReadAll(c.output)
	check.OK(c.t, err)
	err = c.cmd.Wait()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		c.t.Fatal(err)
	}
	return string(said), c.cmd.ProcessState.ExitCode()
}

// list returns the names of the tools on a page, and the cursor of the next one.
func (c *client) list(cursor string) (names []string, next string) {
	c.t.Helper()
	c.request(7, "tools/list", map[string]string{"cursor": cursor})
	var answer struct {
		Result struct {
			Tools []struct{ Name string }
			Next  string `json:"nextCursor"`
		}
	}
	check.OK(c.t, json.Unmarshal([]byte(c.line()), &answer))
	for _, tool := range answer.Result.Tools {
		names = append(names, tool.Name)
	}
	return names, answer.Result.Next
}

// TestGoodServer holds that a server without modes does what the protocol says.
func TestGoodServer(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.request(1, "initialize", map[string]string{"protocolVersion": "2025-06-18"})
	c.want(`"protocolVersion":"2025-06-18"`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.request(2, "ping", struct{}{})
	c.want(`{"id":2,"jsonrpc":"2.0","result":{}}`)
	if names, next := c.list(""); !slices.Equal(names, []string{Act, Read, Set, Destroy}) || next != "" {
		t.Errorf("tools are %q, then %q", names, next)
	}
	c.call(3, Args{Text: "hello"})
	c.want(`{"id":3,"jsonrpc":"2.0","result":{"content":[{"text":"hello","type":"text"}]}}`)
	c.request(4, "prompts/list", struct{}{})
	c.want(`"code":-32601`)
	c.call(5, Args{Action: "dance"})
	c.want(`"dance\" is not an action`)
	check.OK(t, c.input.Close())
	if rest, status := c.wait(); rest != "" || status != exitOK {
		t.Errorf("the server ends with %d, and says %q", status, rest)
	}
}

// TestSDKClient holds that the SDK's client takes the server for one, whatever version the server speaks.
func TestSDKClient(t *testing.T) {
	t.Parallel()
	for _, modes := range [][]string{{}, {"protocol=2024-11-05"}, {"tools=1000", "page=100"}} {
		command, args := Command(t, modes...)
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: exec.Command(command, args...)}, nil)
		check.OK(t, err)
		n := 0
		for _, err := range session.Tools(t.Context(), nil) {
			check.OK(t, err)
			n++
		}
		if n != 4 && n != 1004 {
			t.Errorf("%q: %d tools", modes, n)
		}
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: Read, Arguments: Args{Text: "word"}})
		check.OK(t, err)
		if said, ok := result.Content[0].(*mcp.TextContent); !ok || said.Text != "word" {
			t.Errorf("%q: the result is %+v", modes, result)
		}
		check.OK(t, session.Close())
	}
}

// TestModes holds that each mode does what it says.
func TestModes(t *testing.T) {
	t.Parallel()
	initialize := func(c *client) { c.request(1, "initialize", map[string]string{"protocolVersion": newest}) }
	tests := map[string]func(t *testing.T){
		"hang": func(t *testing.T) {
			c := start(t, "hang=initialize")
			initialize(c)
			c.request(2, "ping", struct{}{})
			c.want(`"id":2`)
		},
		"rubbish": func(t *testing.T) {
			c := start(t, "rubbish")
			initialize(c)
			c.want("{what? ")
		},
		"greet": func(t *testing.T) {
			c := start(t, "greet")
			initialize(c)
			c.want("Server is ready!", `"id":1`)
		},
		"exit": func(t *testing.T) {
			c := start(t, "exit=4")
			if rest, status := c.wait(); rest != "" || status != 4 || c.stderr.String() != "cannot start: no token\n" {
				t.Errorf("the server ends with %d, and says %q, %q", status, rest, c.stderr)
			}
		},
		"stderr": func(t *testing.T) {
			c := start(t, "stderr=1234567")
			initialize(c)
			c.want(`"id":1`)
			check.OK(t, c.input.Close())
			c.wait()
			if n := c.stderr.Len(); n != 1234567 {
				t.Errorf("%d bytes on stderr", n)
			}
		},
		"stubborn": func(t *testing.T) {
			c := start(t, "stubborn")
			initialize(c)
			c.want(`"id":1`)
			check.OK(t, c.cmd.Process.Signal(syscall.SIGTERM))
			c.request(2, "ping", struct{}{})
			c.want(`"id":2`)
			check.OK(t, c.input.Close())
			check.OK(t, c.cmd.Process.Signal(syscall.SIGTERM))
			check.OK(t, c.cmd.Process.Kill())
			if _, status := c.wait(); status != -1 {
				t.Errorf("the server ends with %d before it is killed", status)
			}
		},
		"fork":  func(t *testing.T) { testFork(t, "fork") },
		"leave": func(t *testing.T) { testFork(t, "leave") },
		"once": func(t *testing.T) {
			once := "once=" + filepath.Join(t.TempDir(), "once")
			if _, status := start(t, once, "exit=4").wait(); status != 4 {
				t.Errorf("the first server ends with %d", status)
			}
			c := start(t, once, "exit=4")
			initialize(c)
			c.want(`"id":1`)
		},
		"record": func(t *testing.T) {
			record := filepath.Join(t.TempDir(), "record")
			c := start(t, "record="+record)
			initialize(c)
			c.want(`"id":1`)
			lines, err := os.ReadFile(record)
			check.OK(t, err)
			if !strings.HasPrefix(string(lines), `{"jsonrpc":"2.0","id":1,"method":"initialize"`) {
				t.Errorf("the record is %s", lines)
			}
		},
		"environment": func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "environment")
			c := start(t, "environment="+file)
			initialize(c)
			c.want(`"id":1`)
			lines, err := os.ReadFile(file)
			check.OK(t, err)
			if !strings.Contains(string(lines), "TEST_COLOUR=green\n") {
				t.Errorf("the environment is %s", lines)
			}
		},
		"protocol": func(t *testing.T) {
			c := start(t, "protocol=1999-01-01")
			initialize(c)
			c.want(`"protocolVersion":"1999-01-01"`)
		},
		"describe": func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "description")
			c := start(t, "describe="+file)
			for _, words := range []string{"Cut the grass", "Cut the hedge"} {
				check.OK(t, os.WriteFile(file, []byte(words), 0o600))
				c.request(1, "tools/list", struct{}{})
				c.want(words)
			}
		},
		"tools": func(t *testing.T) {
			if names, _ := start(t, "tools=1000").list(""); len(names) != 1004 || names[1003] != "tool_999" {
				t.Errorf("%d tools", len(names))
			}
		},
		"later": func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "later")
			c := start(t, "later="+file)
			before, _ := c.list("")
			check.OK(t, os.WriteFile(file, nil, 0o600))
			after, _ := c.list("")
			if !slices.Equal(after, append(before, Later)) {
				t.Errorf("tools are %q, and then %q", before, after)
			}
		},
		"refused": func(t *testing.T) {
			names, _ := start(t, "refused").list("")
			if len(names) != 4+len(refusedTools) || !slices.Contains(names, "schema_of_text") {
				t.Errorf("tools are %q", names)
			}
		},
		"malformed": func(t *testing.T) {
			names, _ := start(t, "malformed").list("")
			if !slices.Contains(names, "annotated_by_text") {
				t.Errorf("tools are %q", names)
			}
		},
		"page": func(t *testing.T) {
			c := start(t, "page=3")
			first, cursor := c.list("")
			second, end := c.list(cursor)
			if !slices.Equal(append(first, second...), []string{Act, Read, Set, Destroy}) || end != "" {
				t.Errorf("pages are %q and %q, then %q", first, second, end)
			}
		},
		"endless": func(t *testing.T) {
			c := start(t, "endless")
			first, cursor := c.list("")
			second, next := c.list(cursor)
			if !slices.Equal(first, second) || next != cursor || cursor == "" {
				t.Errorf("pages are %q and %q, then %q", first, second, next)
			}
		},
		"changes": func(t *testing.T) {
			c := start(t, "changes=2")
			c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			c.request(2, "ping", struct{}{})
			c.want("list_changed", "list_changed", `"id":2`)
		},
	}
	for mode := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			if tests[mode] == nil {
				t.Fatal("the mode has no test")
			}
			tests[mode](t)
		})
	}
}

// testFork holds that a child stays until its file is gone.
func testFork(t *testing.T, mode string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pid")
	c := start(t, mode+"="+file)
	c.call(1, Args{Text: "here"})
	c.want("here")
	content, err := os.ReadFile(file)
	check.OK(t, err)
	pid, err := strconv.Atoi(string(content))
	check.OK(t, err)
	group, err := syscall.Getpgid(pid)
	check.OK(t, err)
	own, err := syscall.Getpgid(c.cmd.Process.Pid)
	check.OK(t, err)
	if (group == own) != (mode == "fork") {
		t.Errorf("the process group of the child is %d, of the server %d", group, own)
	}
	check.OK(t, c.cmd.Process.Kill())
	_, err = c.cmd.Process.Wait()
	check.OK(t, err)
	check.OK(t, syscall.Kill(pid, 0))
	check.OK(t, os.Remove(file))
	if rest, err := io.ReadAll(c.output); err != nil || len(rest) > 0 { // ends with the child, which has the pipe too
		t.Errorf("the child says %q, %v", rest, err)
	}
}

// TestActions holds that each action does what it says.
func TestActions(t *testing.T) {
	t.Parallel()
	for action, wants := range map[string][]string{ // of a call with the text "word"
		"answer":      {`"word"`},
		"fail":        {`"isError":true`},
		"refuse":      {`"message":"word"`},
		"twice":       {`"id":1,"jsonrpc":"2.0","result":{"content":[{"text":"word"`, `"id":1,"jsonrpc":"2.0","result":{"content":[{"text":"again"`},
		"stranger":    {`"id":"nobody"`, `"word"`},
		"stderr":      {`"word"`},
		"rubbish":     {"", "null", "7", "[]", "[1]", "{}", "jsonrpc", "Listening", "\x00\xff", `"id":null`, `"id":{}`, `"id":true`, `"word"`},
		"change":      {"notifications/tools/list_changed", "changed"},
		"environment": {`TEST_COLOUR=green\n`},
		"image":       {`"data":"AAAA","mimeType":"image/png","type":"image"`},
		"link":        {`"type":"resource_link"`},
		"resource":    {`"resource":{"mimeType":"text/plain","text":"word"`},
		"structured":  {`"structuredContent":{"text":"word"}`},
		"unknown":     {`"type":"hologram"`},
		"shapeless":   {`"content":"word"`},
		"hang":        {},
		"big":         {`{"id":1,"jsonrpc":"2.0","result":{"content":[{"text":"xxx","type":"text"}]}}`},
	} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			c.call(1, Args{Action: action, Text: "word", Bytes: 3})
			c.want(wants...)
			c.request(2, "ping", struct{}{})
			c.want(`"id":2`)
		})
	}
}

// TestDeath holds that a server dies in a call, once if it shall.
func TestDeath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := Args{
		Action: "die",
		Text:   "executed",
		Log:    filepath.Join(dir, "log"),
		Once:   filepath.Join(dir, "once"),
	}
	c := start(t)
	c.call(1, args)
	if rest, status := c.wait(); rest != "" || status != exitDied {
		t.Errorf("the server ends with %d, and says %q", status, rest)
	}
	c = start(t)
	c.call(1, args)
	c.want("again")
	lines, err := os.ReadFile(args.Log)
	check.OK(t, err)
	if string(lines) != "executed\nexecuted\n" {
		t.Errorf("the log is %q", lines)
	}
	c.call(2, Args{Action: "half", Text: "word"})
	if rest, status := c.wait(); !strings.HasPrefix(rest, `{"id":2,`) || strings.HasSuffix(rest, "\n") || status != exitDied {
		t.Errorf("the server ends with %d, and says %q", status, rest)
	}
}

// TestOrder holds that answers come as the calls say, not in the order of the calls.
func TestOrder(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.call(1, Args{Action: "late"})
	c.call(2, Args{})
	c.want(`"id":2`, `"id":1`)
	file := filepath.Join(t.TempDir(), "file")
	c.call(3, Args{Action: "wait", File: file})
	c.call(4, Args{Action: "process"})
	c.want(`"text":"` + strconv.Itoa(c.cmd.Process.Pid) + `"`)
	check.OK(t, os.WriteFile(file, nil, 0o600))
	c.want(`"id":3`)
}

// TestAsk holds that the server asks its client, and tells what it hears.
func TestAsk(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.call(1, Args{Action: "ask", Text: "sampling/createMessage"})
	c.want(`"id":"odd-0","jsonrpc":"2.0","method":"sampling/createMessage"`)
	c.send(`{"jsonrpc":"2.0","id":"odd-0","error":{"code":-1,"message":"never"}}`)
	c.want("never")
}

// TestForkInACall holds that a call leaves a process behind.
func TestForkInACall(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	c := start(t)
	c.call(1, Args{Action: "fork", File: file})
	c.want(`"id":1`)
	check.OK(t, c.input.Close())
	_, err := c.cmd.Process.Wait()
	check.OK(t, err)
	content, err := os.ReadFile(file)
	check.OK(t, err)
	pid, err := strconv.Atoi(string(content))
	check.OK(t, err)
	check.OK(t, syscall.Kill(pid, 0))
	check.OK(t, os.Remove(file))
	if rest, err := io.ReadAll(c.output); err != nil || len(rest) > 0 {
		t.Errorf("the child says %q, %v", rest, err)
	}
}
