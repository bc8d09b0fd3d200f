package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
)

// patience is how long the gateway may be away before a request fails.
const patience = time.Minute

// errRefused means that the gateway ends and has done nothing.
var errRefused = errors.New("the gateway is restarting or shutting down")

// An unknownError is the error of a call of which nobody knows whether it was carried out.
type unknownError struct{ tool string }

// Error says what to do.
func (e *unknownError) Error() string {
	return fmt.Sprintf("%s. Whether %s was carried out is not known: look before calling it again", client.ErrCut, e.tool)
}

// persist passes a message on until the gateway has answered. The call of a tool is sent once, because it
// may have an effect, unless the gateway says that it may be sent again. If the gateway was killed meanwhile, the
// call of a tool that may run again is sent once more.
func (b *Bridge) persist(ctx context.Context, m *message) error {
	away := time.Now()
	pauses := client.NewBackoff()
	repeated := false
	for {
		reached, err := b.pass(ctx, m)
		if reached {
			away = time.Now()
			pauses.Reset()
		}
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case errors.Is(err, client.ErrUnreachable):
			if err := b.revive(ctx); err != nil {
				return err
			}
		case errors.Is(err, errRefused):
		case errors.Is(err, client.ErrCut) && m.Method != "tools/call":
		case errors.Is(err, client.ErrCut) && !repeated && b.mayRunAgain(ctx, m):
			repeated = true
			away = time.Now()
		case errors.Is(err, client.ErrCut):
			return &unknownError{m.Params.Name}
		default:
			return err
		}
		if time.Since(away) > patience {
			return err
		}
		if err := pauses.Sleep(ctx); err != nil {
			return err
		}
	}
}

// mayRunAgain reports whether a call that the end of the gateway has cut may be sent again: the tool says so. It
// blocks until the gateway is back.
func (b *Bridge) mayRunAgain(ctx context.Context, m *message) bool {
	away := time.Now()
	pauses := client.NewBackoff()
	for {
		tool, err := b.Gateway.ToolOf(ctx, b.Path, m.Params.Name, m.Params.Args)
		refused, isRefused := errors.AsType[*client.Error](err)
		switch {
		case err == nil:
			return tool.MayRunAgain()
		case isRefused && refused.Code != api.ShuttingDown:
			return false
		case errors.Is(err, client.ErrUnreachable) && b.revive(ctx) != nil:
			return false
		case time.Since(away) > patience || pauses.Sleep(ctx) != nil:
			return false
		}
	}
}

// revive has the gateway started once, however many requests need it.
func (b *Bridge) revive(ctx context.Context) error {
	if b.Revive == nil {
		return nil
	}
	b.reviving.Lock()
	defer b.reviving.Unlock()
	return b.Revive(ctx)
}

// mayBeSentAgain reports whether a message says that the end of the gateway has cut a call which may be
// sent again.
func mayBeSentAgain(data []byte) bool {
	var said struct {
		Error struct {
			Data struct {
				Again bool `json:"bareclaw/again"` // as the package mcp writes it
			} `json:"data"`
		} `json:"error"`
	}
	return json.Unmarshal(data, &said) == nil && said.Error.Data.Again
}
