package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// ErrNoPusher means that no adapter owns the channel's prefix.
var ErrNoPusher = errors.New("no adapter for this channel")

// A Push is a message sent out by itself rather than as a reply.
type Push struct {
	Channel ChannelKey
	Text    string
	Media   *Media
}

// Media is a local file to be sent. An empty Type leaves the choice to the adapter.
type Media struct {
	Path, Type string
}

// A Pusher delivers a push and returns once the remote side has taken it.
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
// returns ErrNoPusher when there is none; any other error means that the
// adapter could not deliver.
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
