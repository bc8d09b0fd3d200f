package core

import "context"

type localKey struct{}

// WithLocal marks the context of a request that came over the Unix socket which the agent's own
// commands reach. Such a request has no more rights than the gateway's settings give the agent.
func WithLocal(ctx context.Context) context.Context { return context.WithValue(ctx, localKey{}, true) }

// IsLocal reports whether WithLocal has marked the context.
func IsLocal(ctx context.Context) bool { return ctx.Value(localKey{}) != nil }
