//go:build !linux

package runner

import (
	"log/slog"

	"bareclaw/toolhost/api"
)

// confine does nothing where the kernel has no Landlock.
func confine(api.Bootstrap, *slog.Logger) error { return nil }
