package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
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

func checkDisk(ctx context.Context, l *look) []Finding {
	dir := l.cfg.StateDir
	if dir == "" {
		return nil
	}
	present := exists(dir)
	dir = existing(dir)
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return nil // checkDirectories reports an inaccessible directory
	}
	found := judgeRoom(dir, s.Bavail*uint64(s.Bsize), s.Files, s.Ffree)
	if !present {
		return found
	}
	took, err := timeSyncs(ctx, dir)
	if err != nil {
		return found // checkDirectories reports an unwritable directory
	}
	return append(found, judgeSync(took))
}

// judgeRoom rates the free bytes and inodes of a directory.
func judgeRoom(dir string, free, inodes, freeInodes uint64) []Finding {
	const why = "On a full disk nothing is accepted (507), and outcomes wait to be written."
	look := "du -sh " + quote(dir) + "/* | sort -h"
	var found []Finding
	room := fmt.Sprintf("%s has %s free", dir, bytesOf(free))
	switch {
	case free < noBytes:
		found = append(found, problem("disk_full", room+".", why, look))
	case free < fewBytes:
		found = append(found, warning("disk_low", room+".", why, look))
	default:
		found = append(found, ok("%s.", room))
	}
	files := fmt.Sprintf("%s has room for %d more files", dir, freeInodes)
	switch {
	case inodes == 0: // the file system does not count inodes
	case freeInodes < noInodes:
		found = append(found, problem("inodes_gone", files+".", why, look))
	case freeInodes < fewInodes:
		found = append(found, warning("inodes_low", files+".", why, look))
	}
	return found
}

func judgeSync(took time.Duration) Finding {
	shown := took.Round(10 * time.Microsecond)
	if took < slowSync {
		return ok("A sync takes %v.", shown)
	}
	return note("disk_slow", fmt.Sprintf("A sync takes %v on the state directory's disk.", shown),
		fmt.Sprintf("Each message waits for one before it is accepted; the project's figures are for %v.", usualSync), moveState)
}

// timeSyncs returns the median time of a small synced write in a directory. The test
// file has no name and disappears with the program.
func timeSyncs(ctx context.Context, dir string) (time.Duration, error) {
	f, err := unnamedFile(dir)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
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

// bytesOf formats a number of bytes.
func bytesOf(n uint64) string {
	const step = 1024
	unit, v := 0, float64(n)
	units := [...]string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"}
	for v >= step && unit < len(units)-1 {
		v /= step
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[unit])
}
