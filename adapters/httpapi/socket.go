package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
)

// guarded returns the route with a handler that does on the Unix socket what onSocket says.
func (rt route) guarded() route {
	switch handle := rt.handle; rt.onSocket {
	case socketServes, socketLimits:
	case socketRefuses:
		rt.handle = func(w *response, r *http.Request) (any, error) {
			if w.local {
				return nil, notOnSocket("This is done over TCP")
			}
			return handle(w, r)
		}
	default:
		panic(fmt.Sprintf("httpapi: %s %s does not say what it does on the Unix socket", rt.method, rt.pattern))
	}
	return rt
}

// notOnSocket refuses a request on the Unix socket.
func notOnSocket(what string) *problem {
	return refuse(http.StatusForbidden, api.NotOnSocket,
		what+": this Unix socket is open to the agent's own commands, which must not do more than the agent may.")
}

// checkReach refuses a request on the Unix socket that acts on a channel whose agent may do more
// unasked than the gateway's settings let agents do.
func (s *shared) checkReach(w *response, key core.ChannelKey) error {
	own, mode := s.Core.Settings.Mode(""), s.Core.Settings.Mode(key)
	if !w.local || core.MayDirect(own, mode) {
		return nil
	}
	return notOnSocket(fmt.Sprintf("Channel %q has the permission mode %s, so that its agent may do more than others, and is reached over TCP, or by the gateway's tools (such as channel_send) from a session that may do as much", key, mode))
}

// checkReachOfAll is checkReach for a request that acts on what all channels share.
func (s *shared) checkReachOfAll(w *response) error {
	for key := range s.Core.Settings.OwnModes() {
		if err := s.checkReach(w, key); err != nil {
			return err
		}
	}
	return nil
}

// checkReachOfMessage is checkReach for the channel of a message.
func (s *shared) checkReachOfMessage(ctx context.Context, w *response, id core.MessageID) error {
	if !w.local {
		return nil
	}
	m, err := s.Core.Messages.Message(ctx, id)
	if err != nil {
		return err
	}
	return s.checkReach(w, m.Channel)
}

// marked returns the request, of which tools can tell whether it came over the Unix socket.
func marked(w *response, r *http.Request) *http.Request {
	if !w.local {
		return r
	}
	return r.WithContext(core.WithLocal(r.Context()))
}
