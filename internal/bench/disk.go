package main

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// pageBytes is what one commit of the ledger writes at least.
const pageBytes = 4096

// A disk says how long it takes to make one page durable.
type disk struct{ p50, p99 time.Duration }

// syncTimes overwrites pages of a file that has its blocks already, each
// followed by fdatasync, count times.
func syncTimes(dir string, count int) (d disk, err error) {
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	const pages = 256
	if _, err := f.Write(make([]byte, pages*pageBytes)); err != nil {
		return d, err
	}
	if err := f.Sync(); err != nil {
		return d, err
	}
	page := make([]byte, pageBytes)
	times := make([]time.Duration, 0, count)
	for i := range count {
		page[0] = byte(i)
		began := time.Now()
		if _, err := f.WriteAt(page, int64(i%pages)*pageBytes); err != nil {
			return d, err
		}
		if err := datasync(f); err != nil {
			return d, err
		}
		times = append(times, time.Since(began))
	}
	return disk{quantile(times, 0.5), quantile(times, 0.99)}, nil
}
