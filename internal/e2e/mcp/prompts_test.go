package mcp

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/commands"
	"bareclaw/core/tools"
	"bareclaw/internal/cli/bridge"
	"bareclaw/internal/testkit/check"
	"bareclaw/mcp"
)

// promptRows are the commands that the suite prescribes.
func promptRows() []commands.Command {
	simple := &commands.Prompt{
		Text: func(context.Context, commands.Call, map[string]string) (string, error) {
			return "This is a simple prompt for testing.", nil
		},
	}
	withArguments := &commands.Prompt{
		Args: []commands.Arg{
			{Name: "arg1", Help: "the first", Required: true},
			{Name: "arg2", Help: "the second", Required: true},
		},
		Text: func(_ context.Context, _ commands.Call, values map[string]string) (string, error) {
			return fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", values["arg1"], values["arg2"]), nil
		},
	}
	return []commands.Command{
		{
			Name:   "test_simple_prompt",
			Help:   "a prompt of the suite",
			Access: commands.Reads,
			Prompt: simple,
		},
		{
			Name:   "test_prompt_with_arguments",
			Help:   "a prompt of the suite",
			Access: commands.Reads,
			Prompt: withArguments,
		},
	}
}

// servePrompts serves commands that are prompts, and returns the address and the list of the commands.
func servePrompts(t *testing.T) (address string, list *commands.List) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	table, err := commands.NewTable()
	check.OK(t, err)
	list = table.NewList()
	check.OK(t, list.Replace(promptRows()...))
	registry, err := tools.NewRegistry(tools.Options{Log: log})
	check.OK(t, err)
	server := mcp.New(mcp.Options{
		Registry: registry,
		Commands: table,
		Name:     mcp.Name,
		Version:  "v1",
		Log:      log,
	})
	address = serve(t, server.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	followed := make(chan struct{})
	go func() {
		server.FollowPrompts(ctx)
		close(followed)
	}()
	t.Cleanup(func() {
		cancel()
		<-followed
	})
	return address, list
}

// TestPromptsConform holds the prompts that are commands to the suites of the protocol, and its own client
// to what it shows of them.
func TestPromptsConform(t *testing.T) {
	t.Parallel()
	modules, node := suites(t)
	address, _ := servePrompts(t)
	front := withToken(t, address, token)
	env := []string{"HOME=" + t.TempDir()}
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for _, scenario := range []string{"prompts-list", "prompts-get-simple", "prompts-get-with-args"} {
			t.Run(version+" "+scenario, func(t *testing.T) {
				t.Parallel()
				suite := filepath.Join(modules, "conformance-next", "dist", "index.js")
				said := runNode(t, env, node, suite, "server", "--url", front.URL+"/mcp", "--spec-version", version, "--scenario", scenario)
				if !strings.Contains(said, "Passed: 2/2, 0 failed, 0 warnings") {
					t.Errorf("the suite says\n%s", said)
				}
			})
		}
	}
	t.Run("inspector", func(t *testing.T) {
		t.Parallel()
		launcher := filepath.Join(modules, "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
		inspect := func(args ...string) string {
			target := []string{launcher, "--cli", front.URL + "/mcp", "--transport", "http"}
			return runNode(t, env, node, append(target, args...)...)
		}
		if said := inspect("--method", "prompts/list"); !strings.Contains(said, `"name": "test_simple_prompt"`) || !strings.Contains(said, `"required": true`) {
			t.Errorf("prompts/list: %s", said)
		}
		said := inspect("--method", "prompts/get", "--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=a", "arg2=b c")
		if !strings.Contains(said, `"text": "Prompt with arguments: arg1='a', arg2='b c'"`) {
			t.Errorf("prompts/get: %s", said)
		}
	})
}

// TestPromptsOverTheProgram gets prompts by bareclaw mcp, in versions with sessions and without, and hears
// of their changes.
func TestPromptsOverTheProgram(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			address, list := servePrompts(t)
			changed := make(chan struct{}, 100)
			asks := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, &sdk.ClientOptions{
				PromptListChangedHandler: func(context.Context, *sdk.PromptListChangedRequest) { changed <- struct{}{} },
			})
			session, err := asks.Connect(t.Context(), program(t, address), &sdk.ClientSessionOptions{ProtocolVersion: version})
			check.OK(t, err)
			defer func() { _ = session.Close() }()
			if got := session.InitializeResult().ProtocolVersion; got != version {
				t.Errorf("the version is %s", got)
			}
			got, err := session.GetPrompt(t.Context(), &sdk.GetPromptParams{
				Name:      "test_prompt_with_arguments",
				Arguments: map[string]string{"arg1": "a", "arg2": "b\nc"},
			})
			check.OK(t, err)
			if text := got.Messages[0].Content.(*sdk.TextContent).Text; text != "Prompt with arguments: arg1='a', arg2='b\nc'" {
				t.Errorf("the prompt is %q", text)
			}
			if _, err := session.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "help"}); err == nil || !strings.Contains(err.Error(), `there is no prompt "help"`) {
				t.Errorf("the error is %v", err)
			}

			// The first notice may be of the prompts that are there from the start.
			for heard, n := 0, 0; heard < 2; n++ {
				row := promptRows()[0]
				row.Help = fmt.Sprint("changed ", n)
				check.OK(t, list.Replace(row))
				select {
				case <-changed:
					heard++
				case <-time.After(200 * time.Millisecond): // its stream is not open yet
				}
				if n > 100 {
					t.Fatal("the client does not hear of changed prompts")
				}
			}
			left, err := session.ListPrompts(t.Context(), nil)
			check.OK(t, err)
			if len(left.Prompts) != 1 || !strings.HasPrefix(left.Prompts[0].Description, "changed ") {
				t.Errorf("the prompts are %+v", left.Prompts)
			}
		})
	}
}

// program returns the standard input and output of what bareclaw mcp runs.
func program(t *testing.T, address string) sdk.Transport {
	t.Helper()
	in, toProgram := io.Pipe()
	fromProgram, out := io.Pipe()
	b := &bridge.Bridge{
		Gateway: client.OverTCP(address, token),
		Out:     out,
	}
	ended := make(chan struct{})
	go func() {
		_ = b.Run(t.Context(), in) // ends with in
		_ = out.Close()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = toProgram.Close()
		_ = fromProgram.Close()
		<-ended
	})
	return &sdk.IOTransport{
		Reader: fromProgram,
		Writer: toProgram,
	}
}
