package mounts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/wait"
)

const (
	// startTimeout is how long a server may take until it has told its tools: npx may load it first.
	startTimeout = time.Minute
	// abandonAfter is how long a call may take to notice that nobody waits for it any more.
	abandonAfter = time.Second
)

// An instance is a server that runs, or a session with one that others run.
type instance struct {
	caller  core.ChannelKey // whose it is; empty: everybody's
	began   time.Time
	says    *stderrLog
	ready   chan struct{}  // closed when it can be used, or err says why not; the next four are set then
	process *process       // nil: the server has a URL
	output  *messageReader // of the process
	session *sdk.ClientSession
	err     error
	changed wait.Signal   // the server's tools have changed
	told    chan struct{} // closed when it is to end

	users int         // calls under way, or about to be; guarded by the mount's mu, like idle
	idle  *time.Timer // ends the instance; nil while it is used
}

// open starts the server and begins the session. Its tools go to learned. The error says why there is no session.
func (i *instance) open(ctx context.Context, m *mount) error {
	server, err := m.server.Expanded(m.room.lookup)
	if err != nil {
		return err
	}
	var transport sdk.Transport
	if server.URL != "" {
		transport, err = overHTTP(&server)
	} else if i.process, err = startProcess(&server, m.room.dir, m.room.nextMark(), i.says); err == nil {
		i.output = newMessageReader(i.process.output, i.says)
		transport = pipes(i.process, i.output)
	}
	if err != nil {
		return err
	}
	i.session, err = connect(ctx, transport, m.room.sdkLog, i.changed.Send)
	if err != nil {
		return i.explain(ctx, err)
	}
	listed, err := list(ctx, i.session)
	if err != nil {
		return i.explain(ctx, fmt.Errorf("list its tools: %w", err))
	}
	m.learned(listed)
	return nil
}

// explain returns why a session has failed: as the end of the process says, if it has ended.
func (i *instance) explain(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errLogin):
		return errLogin
	case i.output != nil && i.output.tooLong.Load():
		return errLongLine
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case i.process != nil && i.process.awaitExit(ctx, termGrace):
		err = i.process.err
	}
	if reason := i.says.reason(); reason != "" {
		return fmt.Errorf("%w; it has said: %s", err, mdtext.Shorten(reason, maxShown))
	}
	return err
}

// call has the server carry out a call. An error that is no *jsonrpc.Error, while ctx has not ended, says that the
// session has failed, and leaves open what has become of the call.
func (i *instance) call(ctx context.Context, name string, args json.RawMessage) (*sdk.CallToolResult, error) {
	type answer struct {
		result *sdk.CallToolResult
		err    error
	}
	answered := make(chan answer, 1)
	go func() { // ends with the session, at the latest
		var a answer
		a.result, a.err = i.session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
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

// close ends the session and the server.
func (i *instance) close(ctx context.Context) {
	if i.process != nil {
		i.process.stop(ctx)
	}
	if i.session != nil {
		_ = i.session.Close() // which has ended, or ends
	}
}

// maxTools bounds the tools of a server, and maxList all of them, in bytes of JSON.
const (
	maxTools = 2000
	maxList  = 8 << 20
)

// list returns the tools of a server.
func list(ctx context.Context, session *sdk.ClientSession) ([]tools.Tool, error) {
	var all []tools.Tool
	size := 0
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		listed, n, err := toolOf(t)
		if err != nil {
			return nil, err
		}
		if size += n; size > maxList || len(all) == maxTools {
			return nil, fmt.Errorf("it has more than %d tools, or more than %d MiB of them", maxTools, maxList>>20)
		}
		all = append(all, listed)
	}
	return all, nil
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
