package doctor

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"bareclaw/internal/humanize"
)

// The bounds below which room is short or gone. The ledger's log alone may grow by 16
// MiB.
const (
	fewBytes  = 1 << 30
	noBytes   = 100 << 20
	fewInodes = 10_000
	noInodes  = 1000
)

const (
	// usualSync is the time of a sync on the machine of docs/performance.md.
	usualSync = 300 * time.Microsecond
	// slowSync is the time of a sync from which syncs dominate the delay of messages.
	slowSync = 5 * time.Millisecond
	// syncs is the number of syncs in a measurement.
	syncs = 15
)

func checkDisk(ctx context.Context, r *report) {
	dir := r.cfg.StateDir
	if dir == "" {
		return
	}
	present := exists(dir)
	dir = existing(dir)
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return // checkDirectories reports an inaccessible directory
	}
	judgeRoom(r, dir, s.Bavail*uint64(s.Bsize), s.Files, s.Ffree)
	if !present {
		return
	}
	if took, err := timeSyncs(ctx, dir); err == nil { // checkDirectories reports an unwritable directory
		judgeSync(r, took)
	}
}

func judgeRoom(r *report, dir string, free, inodes, freeInodes uint64) {
	const why = "On a full disk nothing is accepted (507), and outcomes wait to be written."
	look := "du -sh " + quote(dir) + "/* | sort -h"
	room := fmt.Sprintf("%s has %s free.", dir, humanize.Bytes(free))
	switch {
	case free < noBytes:
		r.problem("disk_full", room, why, look)
	case free < fewBytes:
		r.warning("disk_low", room, why, look)
	default:
		r.ok("%s", room)
	}
	files := fmt.Sprintf("%s has room for %d more files.", dir, freeInodes)
	switch {
	case inodes == 0: // the file system does not count inodes
	case freeInodes < noInodes:
		r.problem("inodes_gone", files, why, look)
	case freeInodes < fewInodes:
		r.warning("inodes_low", files, why, look)
	}
}

func judgeSync(r *report, took time.Duration) {
	shown := took.Round(10 * time.Microsecond)
	if took < slowSync {
		r.ok("A sync takes %v.", shown)
		return
	}
	r.note("disk_slow", fmt.Sprintf("A sync takes %v on the state directory's disk.", shown),
		fmt.Sprintf("Each message waits for one before it is accepted; the project's figures are for %v.", usualSync), moveState)
}

// timeSyncs returns the median time of a small synced write in a directory. The test
// file has no name and disappears with the program.
func timeSyncs(ctx context.Context, dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	if err := os.Remove(f.Name()); err != nil {
		return 0, err
	}
	took := make([]time.Duration, 0, syncs)
	block := make([]byte, 4096)
	for len(took) < syncs && ctx.Err() == nil {
		if _, err := f.WriteAt(block, 0); err != nil {
			return 0, err
		}
		began := time.Now()
		if err := syncData(f); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	if len(took) == 0 {
		return 0, ctx.Err()
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
