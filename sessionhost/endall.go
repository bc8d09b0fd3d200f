package sessionhost

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"bareclaw/sessionhost/protocol"
)

// EndAll ends all sessions of an unused state directory, with their processes. It returns
// when they are gone, or when ctx ends. The next daemon decides the open turns from
// claude's record.
func EndAll(ctx context.Context, stateDir string) error {
	files, err := filepath.Glob(filepath.Join(escapeGlob(filepath.Join(stateDir, "hosts")), "*.json"))
	if err != nil {
		return fmt.Errorf("list host records: %w", err)
	}
	var mu sync.Mutex // guards errs
	var errs []error
	var all sync.WaitGroup
	for _, file := range files {
		r, err := protocol.ReadRecord(file)
		if err != nil {
			continue // the host has just ended, or never was
		}
		all.Go(func() { // ends with ctx
			if err := reap(ctx, r, file); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	all.Wait()
	left, err := Inspect(stateDir)
	if err == nil {
		err = left.End(ctx)
	}
	return errors.Join(append(errs, err)...)
}
