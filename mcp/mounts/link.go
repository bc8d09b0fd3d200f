package mounts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/core/tools"
	"bareclaw/internal/guard"
	"bareclaw/internal/mdtext"
)

const (
	// abandonAfter is how long a call may take to notice that nobody waits for it any more.
	abandonAfter = time.Second
	// closeGrace is how long a session may take to end, with the calls under way in it.
	closeGrace = time.Second
)

// errClosed ends the calls of a session that is closed.
var errClosed = errors.New("the session has been closed")

// A link is a session with a server: with a process of its own, or with one that others run.
type link struct {
	secrets *redactor
	says    *stderrLog
	process *process       // nil: the server has a URL
	output  *messageReader // of the process
	life    context.Context
	end     context.CancelCauseFunc // ends life, and with it calls and requests over HTTP
	conn    sdk.Connection
	session *sdk.ClientSession // over conn; nil: it has not begun
}

// dial begins a session with a server, which has the variables of this process, runs in a directory unless it says
// another one, and has a mark. It returns the tools that the server lists. changed is called when these have changed, and must not
// block.
func dial(ctx context.Context, described *Server, dir, mark string, log *slog.Logger, changed func()) (*link, list, error) {
	server, secrets, err := expand(described)
	if err != nil {
		return nil, list{}, err
	}
	l := &link{
		secrets: secrets,
		says:    &stderrLog{log: log, secrets: secrets},
	}
	l.life, l.end = context.WithCancelCause(context.WithoutCancel(ctx))
	listed, err := l.open(ctx, &server, dir, mark, changed)
	if err != nil {
		err = l.explain(ctx, err)
		l.close(ctx)
		return nil, list{}, err
	}
	return l, listed, nil
}

// open begins the session, and returns the tools that the server lists.
func (l *link) open(ctx context.Context, server *Server, dir, mark string, changed func()) (listed list, err error) {
	transport, err := l.reach(server, dir, mark)
	if err != nil {
		return list{}, err
	}
	if l.conn, err = transport.Connect(l.life); err != nil {
		return list{}, err
	}
	stop := context.AfterFunc(ctx, l.abort)
	defer stop()
	if l.session, err = connect(ctx, l.conn, changed); err != nil {
		return list{}, err
	}
	if listed, err = listOf(ctx, l.session); err != nil {
		return list{}, fmt.Errorf("list its tools: %w", err)
	}
	return listed, nil
}

// reach returns the way to the server, which it starts unless others run it.
func (l *link) reach(server *Server, dir, mark string) (t sdk.Transport, err error) {
	if server.URL != "" {
		return overHTTP(l.life, server)
	}
	if l.process, err = startProcess(server, dir, mark, l.says); err != nil {
		return nil, err
	}
	l.output = newMessageReader(l.process.output, l.says)
	return pipes(l.process, l.output), nil
}

// explain returns why the session has failed: as the end of the process says, unless the process has ended because the
// session has.
func (l *link) explain(ctx context.Context, err error) error {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return l.secrets.show(refused)
	}
	switch {
	case l.output != nil && l.output.fault.Load() != nil:
		if err = *l.output.fault.Load(); errors.Is(err, errEcho) {
			return noServer(err)
		}
		return err
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case l.process != nil && l.process.awaitExit(ctx, termGrace):
		if isCut := errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed); isCut || !errors.Is(l.process.err, errServerEnded) {
			err = l.process.err
		}
	case l.life.Err() != nil:
		err = context.Cause(l.life)
	}
	reason := l.says.reason()
	if l.isNoServer(err, reason) {
		err = noServer(err)
	}
	err = l.secrets.show(err)
	if reason != "" {
		return &shownError{
			words: strings.TrimRight(err.Error(), ". \n") + "; it has said: " + mdtext.Shorten(reason, maxReason),
			err:   err,
		}
	}
	return err
}

// maxReason bounds what a server has said in an error, in UTF-16 units.
const maxReason = 900

// isNoServer reports whether the process has shown itself to be none of an MCP server: it has ended well, or has
// answered with other words, and has sent no message.
func (l *link) isNoServer(err error, said string) bool {
	if l.output == nil || l.session != nil || l.output.heard.Load() {
		return false
	}
	_, isLate := errors.AsType[*lateError](err)
	return errors.Is(err, errServerEnded) || isLate && said != ""
}

// noServer returns the error of a program that is no MCP server.
func noServer(err error) error {
	return fmt.Errorf("%w, and does not answer as an MCP server: check the command and its arguments", err)
}

// call has the server carry out a call. An error for which isAnswer is false, while ctx has not ended, says that the
// session has failed. Then it is open what has become of the call, unless isNotCarriedOut is true. The words of errors
// can be shown.
func (l *link) call(ctx context.Context, name string, args json.RawMessage) (*sdk.CallToolResult, error) {
	ctx, release := endingWith(ctx, l.life)
	defer release()
	type answer struct {
		result *sdk.CallToolResult
		err    error
	}
	answered := make(chan answer, 1)
	go func() { // ends with the session, at the latest
		var a answer
		if a.result, a.err = l.session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args}); a.err != nil {
			a.err = l.secrets.show(a.err)
		}
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

// errRejected is the SDK's error, by its code, for requests that the transport has failed to send, or for which it has
// no answer.
var errRejected = &jsonrpc.Error{Code: -32005}

// isAnswer reports whether an error of a call is what the server has answered.
func isAnswer(err error) bool {
	if _, refused := errors.AsType[*refusal](err); refused {
		return true
	}
	answer, ok := errors.AsType[*jsonrpc.Error](err) // the first one: the server's, if there is one
	return ok && !answer.Is(errRejected)
}

// close ends the session and the server, which may take its time as far as ctx leaves some. The server is asked to end
// the session; the calls under way have closeGrace.
func (l *link) close(ctx context.Context) {
	if l.process != nil {
		l.process.stop(ctx)
	}
	if l.session != nil {
		closed := make(chan struct{})
		go func() { // ends soon after abort, at the latest
			_ = l.session.Close() // which has ended, or ends
			close(closed)
		}()
		late := time.NewTimer(closeGrace)
		defer late.Stop()
		select {
		case <-closed:
		case <-late.C:
		case <-ctx.Done():
		}
	}
	l.abort()
}

// abort ends the session at once.
func (l *link) abort() {
	l.end(errClosed)
	if l.conn != nil {
		_ = l.conn.Close() // which nobody uses any more
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
