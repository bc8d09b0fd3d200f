package lanes

import (
	"context"
	"encoding/json"

	"bareclaw/core"
)

// A ToolServer answers the agents' requests to the gateway's tools. Answer is called from many
// goroutines.
type ToolServer interface {
	// Answer carries out a request of the channel's session and returns the response, a JSON-RPC
	// message; nil leaves the request to the next process of the gateway. ctx ends when the agent
	// has the response, or does not wait for a response any more.
	Answer(ctx context.Context, channel core.ChannelKey, session string, r core.ToolRequest) json.RawMessage
	// CallsOf returns what became of the calls of a session's turn, oldest first.
	CallsOf(ctx context.Context, session string, turn core.TurnID) ([]core.ToolCall, error)
}

// toolRequests are the requests of a channel's session to the gateway's tools that are being
// answered, by id. The answers are made outside the lane's goroutine.
type toolRequests struct {
	*channel
	conv    *conversation
	running map[string]*toolRequest
}

type toolRequest struct {
	core.ToolRequest
	cancel context.CancelFunc
}

// begin answers a request, once. f is the running turn; nil for none.
func (tr *toolRequests) begin(r core.ToolRequest, f *inflight) {
	if tr.running[r.ID] != nil {
		return // taken from the host's list; the event is a replay
	}
	server := tr.manager.tools
	if server == nil { // the hosts know, and refuse calls themselves
		return
	}
	if f != nil {
		r.Turn, r.Depth = f.turn.ID, f.depth()
	}
	ctx, cancel := context.WithCancel(tr.manager.ctx)
	running := &toolRequest{r, cancel}
	tr.running[r.ID] = running
	session := tr.conv.id
	tr.async(func(context.Context) func() {
		response := server.Answer(ctx, tr.key, session, r)
		return func() { tr.end(running, response) }
	})
}

// end passes the response to the agent, unless the agent has withdrawn the request.
func (tr *toolRequests) end(r *toolRequest, response json.RawMessage) {
	defer r.cancel()
	if tr.running[r.ID] != r || response == nil {
		return
	}
	delete(tr.running, r.ID)
	tr.conv.session.touch()
	if err := tr.conv.session.Respond(r.ID, response); err != nil {
		tr.log.Warn("result of a tool not sent", "err", err)
	}
}

// cancel ends the selected requests, whose answers nobody waits for.
func (tr *toolRequests) cancel(which func(*toolRequest) bool) {
	for id, r := range tr.running {
		if which(r) {
			delete(tr.running, id)
			r.cancel()
		}
	}
}

// cancelAll ends all requests, because the session is gone.
func (tr *toolRequests) cancelAll() { tr.cancel(func(*toolRequest) bool { return true }) }

// sync takes up the requests that the host of an earlier process lists. f is as in begin.
func (tr *toolRequests) sync(f *inflight) {
	for _, r := range tr.conv.session.info.Calls {
		tr.begin(r, f)
	}
}
