package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// metaApproval is the member of the metadata of a progress that has the id of the approval for which a call waits.
// bareclaw tools call reads it.
const metaApproval = "bareclaw/approval"

// tellAsked tells the client of a call that the call waits for a person. A client that takes no stream is not told.
func (s *Server) tellAsked(ctx context.Context, client *sdk.ServerSession, token any, approval string) {
	err := client.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
		Meta:          sdk.Meta{metaApproval: approval},
		ProgressToken: token,
		Message:       "waiting for a person: bareclaw approvals",
	})
	if err != nil {
		s.log.Debug("a client is not told that its call waits for a person", "err", err)
	}
}
