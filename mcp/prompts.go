package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/core/commands"
	"bareclaw/internal/guard"
	"bareclaw/internal/wait"
)

// Commands are those that people write in chats. A command with a [commands.Prompt] is a prompt of MCP.
type Commands interface {
	// All returns the commands, which are not changed.
	All() []commands.Command
	// Version returns a number that is another one after each change.
	Version() int64
	// Watch returns a signal that is sent after each change.
	Watch() wait.Signal
}

// noCommands are no commands at all.
type noCommands struct{}

// All returns none.
func (noCommands) All() []commands.Command { return nil }

// Version returns the same number at all times.
func (noCommands) Version() int64 { return 0 }

// Watch returns a signal that is never sent.
func (noCommands) Watch() wait.Signal { return nil }

// prompts makes an SDK server offer the commands that are prompts.
type prompts struct {
	commands Commands
	sdk      *sdk.Server
	log      *slog.Logger

	mu      sync.Mutex                 // guards the fields below
	latest  int64                      // the version of the commands that the server offers, or notOffered
	offered map[string]json.RawMessage // the descriptions of the prompts, by name
}

func newPrompts(all Commands, server *sdk.Server, log *slog.Logger) *prompts {
	return &prompts{
		commands: all,
		sdk:      server,
		log:      log,
		latest:   notOffered,
		offered:  map[string]json.RawMessage{},
	}
}

// update makes the server offer the present prompts. Its clients hear of a change.
func (p *prompts) update() {
	p.mu.Lock()
	defer p.mu.Unlock()
	version := p.commands.Version()
	if version == p.latest {
		return
	}
	offered := map[string]json.RawMessage{}
	for _, c := range p.commands.All() {
		if c.Prompt == nil || c.Prompt.InChat {
			continue
		}
		described := describePrompt(&c)
		offered[c.Name] = encode(described)
		if !bytes.Equal(p.offered[c.Name], offered[c.Name]) {
			p.sdk.AddPrompt(described, p.get)
		}
	}
	for name := range p.offered {
		if offered[name] == nil {
			p.sdk.RemovePrompts(name)
		}
	}
	p.latest = version
	p.offered = offered
}

// FollowPrompts offers the prompts to clients after each change, until ctx ends. Sessions have no prompts.
func (s *Server) FollowPrompts(ctx context.Context) {
	changed := s.prompts.commands.Watch()
	for {
		s.prompts.renew()
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		if wait.Sleep(ctx, settleTime) != nil {
			return
		}
	}
}

// renew is update for a server that a client has used: the others know no prompts yet.
func (p *prompts) renew() {
	p.mu.Lock()
	used := p.latest != notOffered
	p.mu.Unlock()
	if used {
		p.update()
	}
}

// describePrompt returns a command with a prompt as clients see it.
func describePrompt(c *commands.Command) *sdk.Prompt {
	described := &sdk.Prompt{
		Name:        c.Name,
		Description: c.Help,
	}
	for _, arg := range c.Prompt.Args {
		described.Arguments = append(described.Arguments, &sdk.PromptArgument{
			Name:        arg.Name,
			Description: arg.Help,
			Required:    arg.Required,
		})
	}
	return described
}

// find returns the command with a prompt of a name; nil: there is none.
func (p *prompts) find(name string) *commands.Command {
	for _, c := range p.commands.All() {
		if c.Name == name && c.Prompt != nil {
			return &c
		}
	}
	return nil
}

// get returns the text of a prompt. The client is in no chat.
func (p *prompts) get(ctx context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	name := r.Params.Name
	c := p.find(name)
	if c == nil {
		return nil, invalid(fmt.Sprintf("there is no prompt %.120q", name))
	}
	var text string
	err := guard.Do(p.log, "making a prompt", func() (err error) {
		text, err = c.MakePrompt(ctx, commands.Call{}, r.Params.Arguments)
		return err
	}, "prompt", name)
	switch misuse := (*commands.UsageError)(nil); {
	case errors.As(err, &misuse):
		return nil, invalid(misuse.Error())
	case errors.Is(err, guard.ErrPanic):
		return nil, asRPCError(fmt.Errorf("the prompt %s failed by an error of the gateway, which its log describes", name))
	case err != nil:
		return nil, asRPCError(err)
	}
	return &sdk.GetPromptResult{
		Description: c.Help,
		Messages: []*sdk.PromptMessage{{
			Role:    "user",
			Content: &sdk.TextContent{Text: text},
		}},
	}, nil
}

// serve makes the server offer the present prompts before each request, and answers requests for a prompt
// that is not offered: get says why.
func (p *prompts) serve(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		p.update() // a prompt that was just made is there
		get, isGet := r.(*sdk.GetPromptRequest)
		if !isGet || p.offers(get.Params.Name) {
			return next(ctx, method, r)
		}
		result, err := p.get(ctx, get)
		if err != nil {
			return nil, err
		}
		return result, nil
	}
}

func (p *prompts) offers(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.offered[name] != nil
}

// invalid returns the error of a request whose parameters are at fault.
func invalid(text string) *jsonrpc.Error {
	return &jsonrpc.Error{
		Code:    jsonrpc.CodeInvalidParams,
		Message: text,
	}
}
