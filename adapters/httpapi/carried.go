package httpapi

import (
	"context"
	"time"

	"bareclaw/core"
)

// carryTimeout bounds the wait for a carrier, which has its outcome at the same moment.
const carryTimeout = 2 * time.Second

// carry gives a message whose reply is carried by one of another adapter that reply's
// text: whoever sent it over HTTP would never see it. Where that cannot be read, the
// message still says which one has it.
func (s *Server) carry(ctx context.Context, m *core.Message) {
	if m.Reply.Via == "" || m.Adapter != adapterName {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, carryTimeout)
	defer cancel()
	if carrier, err := s.core.Wait(ctx, m.Reply.Into); err == nil {
		m.Reply.Text = carrier.Reply.Text
	}
}
