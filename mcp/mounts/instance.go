package mounts

import (
	"context"
	"fmt"
	"time"

	"bareclaw/core"
	"bareclaw/internal/wait"
)

// startTimeout is how long a server may take until it has told its tools: npx may load it first.
const startTimeout = time.Minute

// A lateError says that a server has not answered in time.
type lateError struct{ limit time.Duration }

// Error implements error.
func (e *lateError) Error() string { return fmt.Sprintf("it did not answer within %s", e.limit) }

// An instance is a server that runs for its callers.
type instance struct {
	caller  core.ChannelKey // whose it is; empty: everybody's
	began   time.Time
	changed wait.Signal   // the server's tools have changed
	ready   chan struct{} // closed when it can be used, or err says why not; link and err are set then
	link    *link
	err     error
	wanted  context.Context // ends when the instance is to end, and with it a start that is under way
	dismiss context.CancelFunc

	users  int         // calls under way, or about to be; guarded by the pool's mu, like the next two
	usedAt time.Time   // when the last call ended
	idle   *time.Timer // ends the instance; nil while it is used
}
