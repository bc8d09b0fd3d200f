//go:build !linux

package proc

import "context"

// ReapOrphans does nothing: only on Linux a daemon is process 1.
func ReapOrphans(context.Context) error { return nil }
