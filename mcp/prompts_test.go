package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/core/commands"
	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
)

// promptOf returns a command with a prompt.
func promptOf(name string, p commands.Prompt) commands.Command {
	return commands.Command{
		Name:   name,
		Help:   "Help of " + name,
		Access: commands.Reads,
		Prompt: &p,
	}
}

// fix is a prompt whose text has the values of its arguments, and who calls.
func fix() commands.Command {
	return promptOf("fix-findings", commands.Prompt{
		Args: []commands.Arg{
			{Name: "app", Help: "which app", Required: true},
			{Name: "note", Help: "anything else"},
		},
		Text: func(_ context.Context, c commands.Call, values map[string]string) (string, error) {
			return fmt.Sprintf("Fix %v for %q.", values, c.Channel), nil
		},
	})
}

// broken returns commands that cannot make their text.
func broken() []commands.Command {
	return []commands.Command{
		promptOf("fails", commands.Prompt{Text: func(context.Context, commands.Call, map[string]string) (string, error) {
			return "", commands.Failed("read the findings", errors.New("the disk is full"))
		}}),
		promptOf("panics", commands.Prompt{Text: func(context.Context, commands.Call, map[string]string) (string, error) {
			panic("a fault")
		}}),
		promptOf("empty", commands.Prompt{Text: func(context.Context, commands.Call, map[string]string) (string, error) {
			return "", nil
		}}),
		promptOf("recap", commands.Prompt{
			InChat: true,
			Text:   func(context.Context, commands.Call, map[string]string) (string, error) { return "Recap.", nil },
		}),
	}
}

// newPromptProcess returns a process with the prompts of a list, and with commands that are none.
func newPromptProcess(t *testing.T) (*process, *commands.List) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	all, err := commands.NewTable()
	check.OK(t, err)
	list := all.NewList()
	check.OK(t, list.Replace(append(broken(), fix())...))
	registry, err := tools.NewRegistry(tools.Options{Log: log})
	check.OK(t, err)
	p := &process{registry: registry}
	p.server = New(Options{
		Registry: registry,
		Commands: all,
		Name:     Name,
		Version:  "v1",
		Log:      log,
	})
	p.handler = p.server.Handler()
	t.Cleanup(func() {
		for s := range p.server.sdk.Sessions() {
			_ = s.Close()
		}
	})
	return p, list
}

// promptsOf returns the names of the prompts that a client sees, with their arguments.
func promptsOf(t *testing.T, session *sdk.ClientSession) string {
	t.Helper()
	list, err := session.ListPrompts(t.Context(), nil)
	check.OK(t, err)
	var all []string
	for _, p := range list.Prompts {
		shown := p.Name + "(" + p.Description
		for _, arg := range p.Arguments {
			shown += fmt.Sprintf("; %s: %s, %v", arg.Name, arg.Description, arg.Required)
		}
		all = append(all, shown+")")
	}
	return strings.Join(all, " ")
}

// TestPrompts lists and gets prompts in each version of the protocol, and hears of their changes.
func TestPrompts(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p, list := newPromptProcess(t)
			ctx, cancel := context.WithCancel(t.Context())
			followed := make(chan struct{})
			go func() {
				p.server.FollowPrompts(ctx)
				close(followed)
			}()
			t.Cleanup(func() {
				cancel()
				<-followed
			})
			g := serve(t, p)
			changed := make(chan struct{}, 100)
			client := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, &sdk.ClientOptions{
				PromptListChangedHandler: func(context.Context, *sdk.PromptListChangedRequest) { changed <- struct{}{} },
			})
			transport := &sdk.StreamableClientTransport{Endpoint: g.URL, HTTPClient: g.client}
			session, err := client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
			check.OK(t, err)
			defer func() { _ = session.Close() }()
			if got := session.InitializeResult(); got.ProtocolVersion != version || got.Capabilities.Prompts == nil || !got.Capabilities.Prompts.ListChanged {
				t.Errorf("the server offers %+v in %s", got.Capabilities, got.ProtocolVersion)
			}

			const fixed = "fix-findings(Help of fix-findings; app: which app, true; note: anything else, false)"
			want := "empty(Help of empty) fails(Help of fails) " + fixed + " panics(Help of panics)"
			if got := promptsOf(t, session); got != want {
				t.Errorf("the prompts are\n%s, want\n%s", got, want)
			}
			got, err := session.GetPrompt(ctx, &sdk.GetPromptParams{
				Name:      "fix-findings",
				Arguments: map[string]string{"app": "the shop", "note": ""},
			})
			check.OK(t, err)
			text := got.Messages[0].Content.(*sdk.TextContent).Text
			if len(got.Messages) != 1 || got.Messages[0].Role != "user" || text != `Fix map[app:the shop] for "".` || got.Description != "Help of fix-findings" {
				t.Errorf("the prompt is %+v with %q", got, text)
			}

			awaitChange(t, list, changed) // or the first offer
			awaitChange(t, list, changed)
			check.OK(t, list.Replace(fix()))
			if got := promptsOf(t, session); got != fixed {
				t.Errorf("after the change the prompts are\n%s, want\n%s", got, fixed)
			}
		})
	}
}

// awaitChange changes the prompts of a list until a client hears of it, whose stream opens some time
// after its session.
func awaitChange(t *testing.T, list *commands.List, changed <-chan struct{}) {
	t.Helper()
	for n := 0; ; n++ {
		other := fix()
		other.Help = fmt.Sprint("changed ", n)
		check.OK(t, list.Replace(other))
		select {
		case <-changed:
			return
		case <-time.After(200 * time.Millisecond):
		}
		if n > 100 {
			t.Fatal("the client does not hear of changed prompts")
		}
	}
}

// TestBadPrompts: the error says whether the client can do anything about it.
func TestBadPrompts(t *testing.T) {
	t.Parallel()
	p, _ := newPromptProcess(t)
	g := serve(t, p)
	for params, want := range map[string]string{
		`{"name":"none"}`:         `"code":-32602,"message":"there is no prompt \"none\""`,
		`{"name":"help"}`:         `"code":-32602,"message":"there is no prompt \"help\""`,
		`{"name":"fix-findings"}`: `"code":-32602,"message":"/fix-findings needs the argument app"`,
		`{"name":"fix-findings","arguments":{"app":" "}}`:         `"code":-32602,"message":"/fix-findings needs the argument app"`,
		`{"name":"fix-findings","arguments":{"app":"a","b":"c"}}`: `"code":-32602,"message":"/fix-findings has no argument \"b\""`,
		`{"name":"fix-findings","arguments":{"app":1}}`:           `"error":{"code":-32602`,
		`{"name":"recap"}`:  `"code":-32602,"message":"/recap is about the chat that it is written in, and this call comes from none: write it in a chat"`,
		`{"name":"fails"}`:  `"code":-32603,"message":"read the findings: the disk is full"`,
		`{"name":"panics"}`: `"code":-32603,"message":"the prompt panics failed by an error of the gateway, which its log describes"`,
		`{"name":"empty"}`:  `"code":-32603,"message":"make the prompt of /empty: the text for Claude is empty"`,
	} {
		_, body := g.send(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":`+params+`}`)
		if !strings.Contains(body, want) {
			t.Errorf("%s: %s, want %s", params, body, want)
		}
	}
}
