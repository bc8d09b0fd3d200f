package mount

import (
	"context"
	"fmt"
	"os"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/wait"
)

// pollPause is the time between two looks at the gateway.
const pollPause = 200 * time.Millisecond

// awaitRead waits until the gateway has read the file as this command has written it, and done reports true or returns an
// error of what the gateway says then. It returns the cause of ctx if that ends before; the error is client.ErrUnreachable
// if no gateway runs.
func (p *place) awaitRead(ctx context.Context, c *command.Context, gateway *client.Client, done func(now *api.Mounts) (bool, error)) error {
	info, err := os.Stat(p.path)
	if err != nil {
		return err
	}
	written := info.ModTime().Truncate(time.Microsecond) // as precise as the API is
	return wait.Poll(ctx, pollPause, func() (bool, error) {
		var now api.Mounts
		if err := c.Get(gateway, api.PathMounts, &now); err != nil {
			return false, err
		}
		if now.FileTime.Before(written) {
			return false, nil
		}
		if now.Problem != "" {
			return false, fmt.Errorf("the gateway says: %s", mdtext.Stopless(now.Problem))
		}
		return done(&now)
	})
}
