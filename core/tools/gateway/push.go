package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bareclaw/core"
	"bareclaw/core/tools"

	"github.com/google/uuid"
)

// pushTimeout is more than an adapter takes for a large file.
const pushTimeout = 15 * time.Minute

// A Pusher sends pushes. The methods are those of core.PushRegistry.
type Pusher interface {
	Send(ctx context.Context, p core.Push) error
	Prefixes() []string
}

type pushes struct{ Pusher }

type pushArgs struct {
	Channel core.ChannelKey `json:"channel"`
	Text    string          `json:"text"`
	File    string          `json:"file"`
}

func (pushes) target(_ context.Context, _ tools.Call, args pushArgs) (core.ChannelKey, error) {
	return args.Channel, nil
}

func (ps pushes) send(ctx context.Context, c tools.Call, args pushArgs) (any, error) {
	p := core.Push{Channel: args.Channel, Text: args.Text}
	if key := sourceKey(&c); key != "" {
		p.ID = uuid.NewSHA1(uuid.NameSpaceOID, []byte(key)).String()
	}
	switch {
	case args.File != "":
		p.Media = &core.Media{Path: args.File}
	case strings.TrimSpace(args.Text) == "":
		return nil, errors.New("give a text that is not blank, or a file")
	}
	err := ps.Send(ctx, p)
	told, isTold := errors.AsType[*core.PushError](err)
	unknown := errors.Is(err, core.ErrUnconfirmed)
	switch {
	case err == nil:
		return map[string]any{"channel": args.Channel, "status": "sent"}, nil
	case errors.Is(err, core.ErrNoPusher):
		return nil, fmt.Errorf("nothing is sent to channel %.300q: %s", args.Channel, ps.pushable())
	case errors.Is(err, core.ErrClosed), ctx.Err() != nil:
		return nil, err
	case isTold && told.Text != "":
		err = errors.New(told.Text)
	}
	if unknown {
		return nil, fmt.Errorf("outcome unknown: %w Ask the people there before you send it again", err)
	}
	return nil, fmt.Errorf("not sent: %w", err)
}

// pushable says which channels take pushes.
func (ps pushes) pushable() string {
	prefixes := ps.Prefixes()
	if len(prefixes) == 0 {
		return "no adapter for people is configured"
	}
	return "the channels of people begin with " + strings.Join(prefixes, ", ") + "; channel_send reaches the agent of any channel"
}
