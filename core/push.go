package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Why a push was not delivered. ErrBadContent is one more: there is nothing in it
// that could be sent. All others mean that the other side did not take it.
var (
	// ErrNoPusher: no adapter owns the channel's prefix.
	ErrNoPusher = errors.New("no adapter for this channel")
	// ErrNotAllowed: the adapter does not send there.
	ErrNotAllowed = errors.New("the channel is not sent to")
	// ErrUnconfirmed: it, or a part of it, may have been delivered, or still be.
	ErrUnconfirmed = errors.New("not known to be delivered")
)

// A PushError says why a push was not delivered. Kind is one of the errors above, or
// nil; Text is for a person: whoever asked for the push gets to see it.
type PushError struct {
	Kind error
	Text string
}

func (e *PushError) Error() string { return e.Text }

func (e *PushError) Unwrap() error { return e.Kind }

// A Push is a message sent out by itself rather than as a reply.
type Push struct {
	ID      string // of two with the same id one is sent; empty: it is like no other
	Channel ChannelKey
	Text    string
	Media   *Media
}

// Media is a local file to be sent. An empty Type leaves the choice to the adapter.
type Media struct {
	Path, Type string
}

// A Pusher delivers a push and returns once the remote side has taken it. When ctx
// ends before that, it takes the push back or returns ErrUnconfirmed. ErrClosed means
// that this process will not deliver it, but that the next one may under its ID.
type Pusher func(ctx context.Context, p Push) error

// A PushRegistry routes pushes to the adapter that owns the channel's prefix.
// The zero value is ready; all methods are safe for concurrent use.
type PushRegistry struct {
	mu      sync.RWMutex
	pushers map[string]Pusher
}

// Register makes p responsible for the channels whose key begins with prefix.
func (r *PushRegistry) Register(prefix string, p Pusher) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pushers == nil {
		r.pushers = map[string]Pusher{}
	}
	r.pushers[prefix] = p
}

// Prefixes returns the registered prefixes, sorted; never nil.
func (r *PushRegistry) Prefixes() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	prefixes := make([]string, 0, len(r.pushers))
	for p := range r.pushers {
		prefixes = append(prefixes, p)
	}
	slices.Sort(prefixes)
	return prefixes
}

// Send hands the push to the adapter with the longest matching prefix. It
// returns ErrNoPusher when there is none; any other error is the adapter's.
func (r *PushRegistry) Send(ctx context.Context, p Push) error {
	r.mu.RLock()
	best, found := "", false
	for prefix := range r.pushers {
		if strings.HasPrefix(string(p.Channel), prefix) && (!found || len(prefix) > len(best)) {
			best, found = prefix, true
		}
	}
	push := r.pushers[best]
	r.mu.RUnlock()
	if !found {
		return fmt.Errorf("push to %q: %w", p.Channel, ErrNoPusher)
	}
	return push(ctx, p)
}
