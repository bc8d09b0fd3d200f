package mounts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/core/tools"
	"bareclaw/internal/guard"
	"bareclaw/internal/mdtext"
)

// abandonAfter is how long a call may take to notice that nobody waits for it any more.
const abandonAfter = time.Second

// A link is a session with a server: with a process of its own, or with one that others run.
type link struct {
	says    *stderrLog
	process *process       // nil: the server has a URL
	output  *messageReader // of the process
	session *sdk.ClientSession
}

// dial begins a session with a server, which has the variables of this process, runs in a directory unless it says
// another one, and has a mark. It returns the tools that the server lists. changed is called when these have changed, and must not
// block.
func dial(ctx context.Context, described *Server, dir, mark string, log *slog.Logger, changed func()) (*link, list, error) {
	server, err := described.Expanded(os.LookupEnv)
	if err != nil {
		return nil, list{}, err
	}
	l := &link{says: &stderrLog{log: log}}
	listed, err := l.open(ctx, &server, dir, mark, changed)
	if err != nil {
		l.close(ctx)
		return nil, list{}, err
	}
	return l, listed, nil
}

// open begins the session.
func (l *link) open(ctx context.Context, server *Server, dir, mark string, changed func()) (listed list, err error) {
	var transport sdk.Transport
	if server.URL != "" {
		transport, err = overHTTP(server)
	} else {
		transport, err = l.start(server, dir, mark)
	}
	if err != nil {
		return list{}, err
	}
	l.session, err = connect(ctx, transport, changed)
	if err != nil {
		return list{}, l.explain(ctx, err)
	}
	listed, err = listOf(ctx, l.session)
	if err != nil {
		return list{}, l.explain(ctx, fmt.Errorf("list its tools: %w", err))
	}
	return listed, nil
}

// start starts the server, and returns the way to it.
func (l *link) start(server *Server, dir, mark string) (t sdk.Transport, err error) {
	if l.process, err = startProcess(server, dir, mark, l.says); err != nil {
		return nil, err
	}
	l.output = newMessageReader(l.process.output, l.says)
	return pipes(l.process, l.output), nil
}

// explain returns why the session has failed: as the end of the process says, unless the process has ended because the
// session has.
func (l *link) explain(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errLogin):
		return errLogin
	case l.output != nil && l.output.tooLong.Load():
		return errLongLine
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case l.process != nil && l.process.awaitExit(ctx, termGrace):
		if isCut := errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed); isCut || !errors.Is(l.process.err, errServerEnded) {
			err = l.process.err
		}
	}
	if reason := l.says.reason(); reason != "" {
		return fmt.Errorf("%w; it has said: %s", err, mdtext.Shorten(reason, maxShown))
	}
	return err
}

// call has the server carry out a call. An error that is no *jsonrpc.Error, while ctx has not ended, says that the
// session has failed, and leaves open what has become of the call.
func (l *link) call(ctx context.Context, name string, args json.RawMessage) (*sdk.CallToolResult, error) {
	type answer struct {
		result *sdk.CallToolResult
		err    error
	}
	answered := make(chan answer, 1)
	go func() { // ends with the session, at the latest
		var a answer
		a.result, a.err = l.session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
		answered <- a
	}()
	select {
	case a := <-answered:
		return a.result, a.err
	case <-ctx.Done():
	}
	late := time.NewTimer(abandonAfter)
	defer late.Stop()
	select {
	case a := <-answered:
		return a.result, a.err
	case <-late.C: // the server does not even read
		return nil, context.Cause(ctx)
	}
}

// isAnswer reports whether an error of a call is what the server has answered.
func isAnswer(err error) bool {
	known := (*jsonrpc.Error)(nil)
	return errors.As(err, &known)
}

// close ends the session and the server, which may take its time as far as ctx leaves some.
func (l *link) close(ctx context.Context) {
	if l.process != nil {
		l.process.stop(ctx)
	}
	if l.session != nil {
		_ = l.session.Close() // which has ended, or ends
	}
}

// maxTools bounds the tools of a server, and maxList all of them, in bytes of JSON.
const (
	maxTools = 2000
	maxList  = 8 << 20
)

// A list is what a server lists.
type list struct {
	tools   []tools.Tool
	refused []string // names of tools that clients of MCP refuse
}

// listOf returns what a server lists.
func listOf(ctx context.Context, session *sdk.ClientSession) (l list, err error) {
	size := 0
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return l, err
		}
		listed, n, err := toolOf(t)
		if err != nil {
			return l, err
		}
		if size += n; size > maxList || len(l.tools) == maxTools {
			return l, fmt.Errorf("it has more than %d tools, or more than %d MiB of them", maxTools, maxList>>20)
		}
		if isRefused(t) {
			l.refused = append(l.refused, t.Name)
			continue
		}
		l.tools = append(l.tools, listed)
	}
	return l, nil
}

// isRefused reports whether clients of MCP refuse a tool, for its schema or its annotations: as the SDK does, by
// a panic.
func isRefused(t *sdk.Tool) bool {
	err := guard.Do(slog.New(slog.DiscardHandler), "checking a tool", func() error {
		server := sdk.NewServer(&sdk.Implementation{Name: "check"}, nil)
		server.AddTool(t, nil)
		return nil
	})
	return err != nil
}

// toolOf returns a tool as its server lists it, with its size in bytes of JSON.
func toolOf(t *sdk.Tool) (listed tools.Tool, size int, err error) {
	if listed.Input, err = json.Marshal(t.InputSchema); err != nil {
		return listed, 0, fmt.Errorf("read the schema of %.100q: %w", t.Name, err)
	}
	listed.Name = t.Name
	listed.Description = t.Description
	listed.Annotations.Title = t.Title
	if a := t.Annotations; a != nil {
		listed.Annotations = tools.Annotations{
			Title:       cmp.Or(t.Title, a.Title),
			ReadOnly:    a.ReadOnlyHint,
			Idempotent:  a.IdempotentHint,
			Destructive: hint(a.DestructiveHint),
			OpenWorld:   hint(a.OpenWorldHint),
		}
	}
	return listed, len(t.Name) + len(t.Description) + len(listed.Input), nil
}

func hint(said *bool) tools.Hint {
	if said == nil {
		return tools.Unsaid
	}
	return tools.HintOf(*said)
}
