package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bareclaw/internal/humanize"
	"bareclaw/internal/privatedir"
)

const moveState = "set BARECLAW_STATE_DIR to a directory on a local disk"

func checkDirectories(_ context.Context, r *report) {
	if dir := r.cfg.StateDir(); dir != "" {
		checkState(r, dir)
	}
	if dir := r.cfg.RuntimeDir(); dir != "" {
		checkRuntime(r, dir)
	}
	if dir := string(r.cfg.Files.CWD); dir != "" && unix.Access(dir, unix.W_OK|unix.X_OK) != nil {
		command := "set BARECLAW_CWD to a directory of yours"
		if info, err := os.Stat(dir); err == nil && owner(info) == os.Getuid() {
			command = "chmod u+rwx " + quote(dir)
		}
		r.problem("cwd_unwritable", "claude's directory "+dir+" (BARECLAW_CWD) cannot be written.",
			"Session ids are kept there, and claude works there.", command)
	}
}

func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

func checkState(r *report, dir string) {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) { // the gateway makes it
		parent := existing(dir)
		if err := unix.Access(parent, unix.W_OK|unix.X_OK); err != nil {
			r.problem("directory_unusable", fmt.Sprintf("%s cannot be made: %s: %v.", dir, parent, err),
				"The gateway does not start without it.", "`mkdir -p -m 700 "+quote(dir)+"`, as a user who may")
			return
		}
		r.note("state_missing", "The state directory "+dir+" does not exist yet.", "The gateway makes it when it is started for the first time.", "")
		return
	}
	why := "It holds every message, and who can write there can command the gateway."
	fine := checkPrivate(r, dir, info, err, "state_open", "BARECLAW_STATE_DIR", why)
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return
	}
	if kind := fileSystem(&s); unfit[kind] != "" {
		r.warning("state_file_system", fmt.Sprintf("The state directory %s is on %s.", dir, kind), unfit[kind], moveState)
	} else if fine {
		r.ok("The state directory %s is private and can be written.", dir)
	}
}

// existing returns the nearest existing directory at or above a path.
func existing(dir string) string {
	for !exists(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return dir
}

// checkPrivate reports whether the gateway's user, and no other user, can use the
// directory named by the variable.
func checkPrivate(r *report, dir string, info fs.FileInfo, err error, open, variable, why string) (fine bool) {
	unusable := func(what string) {
		r.problem("directory_unusable", dir+" "+what+".", "The gateway does not start without it.", "ls -ld "+quote(dir))
	}
	if err != nil {
		unusable("cannot be looked at: " + err.Error())
		return false
	}
	uid, mode := owner(info), info.Mode().Perm()
	access := unix.Access(dir, unix.W_OK|unix.X_OK)
	switch {
	case !info.IsDir():
		unusable("is not a directory")
	case uid != os.Getuid():
		r.problem("directory_owner", fmt.Sprintf("%s belongs to another user (uid %d).", dir, uid),
			"Was the gateway started with sudo once? "+why, fmt.Sprintf("`chown -R %d %s`, as root", os.Getuid(), quote(dir)))
	case access != nil:
		unusable("cannot be written: " + access.Error())
	case mode&0o077 != 0 && privatedir.Shared(dir, info): // mode 0700 would lock out the directory's other users
		r.problem(open, fmt.Sprintf("%s is open to others (mode %04o), and not for the gateway alone.", dir, mode), why,
			"set "+variable+" to a directory of its own, as "+quote(filepath.Join(dir, "bareclaw")))
	case mode&0o077 != 0:
		r.problem(open, fmt.Sprintf("%s is open to others (mode %04o).", dir, mode), why, "chmod 700 "+quote(dir)).
			by(func(context.Context) error { return os.Chmod(dir, 0o700) })
	default:
		return true
	}
	return false
}

func checkRuntime(r *report, dir string) {
	info, err := os.Lstat(dir) // the gateway follows no link to it
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case missing && r.holder().alive:
		again := "`bareclaw stop`, then `bareclaw start`; `loginctl enable-linger` keeps the directory"
		if r.keeper() == nil {
			again = "`bareclaw service install`, or " + again
		}
		r.problem("runtime_missing", "The runtime directory "+dir+" is gone while the gateway runs.",
			"Its sockets were there: sessions cannot be taken up, and commands do not reach it. Some systems remove it at logout.", again)
	case missing:
	case checkPrivate(r, dir, info, err, "runtime_open", "BARECLAW_RUNTIME_DIR", "Its sockets command the gateway and its sessions."):
		r.ok("The runtime directory %s is private and can be written.", dir)
	}
}

// The risks of keeping the ledger on an unfit file system.
const (
	overNetwork = "Over a network, locks and syncs are not always what they say: the ledger may be damaged when a connection breaks."
	inMemory    = "It is in memory: every message and its outcome are gone when the machine is switched off."
)

// unfit says why a kind of file system is bad for lasting data.
var unfit = map[string]string{
	"nfs": overNetwork, "smbfs": overNetwork, "cifs": overNetwork, "afpfs": overNetwork, "webdav": overNetwork,
	"9p": overNetwork, "ceph": overNetwork, "afs": overNetwork, "fuse": overNetwork,
	"tmpfs": inMemory, "ramfs": inMemory,
}

// clockSlack is the permitted lag of the clock behind the gateway's newest file.
const clockSlack = 2 * time.Minute

// checkClock checks whether time moves forward. The clock of a machine without a battery
// begins in 1970, and budgets, schedules and certificates depend on the clock.
func checkClock(_ context.Context, r *report) {
	now := time.Now()
	paths := []string{r.Self}
	if dir := r.cfg.StateDir(); dir != "" {
		paths = append(paths, filepath.Join(dir, "ledger.db"), filepath.Join(dir, "ledger.db-wal"))
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil && info.ModTime().After(now.Add(clockSlack)) {
			r.problem("clock_behind", fmt.Sprintf("The clock says %s, and %s was written at %s.",
				now.Format(time.DateTime), path, info.ModTime().Format(time.DateTime)),
				"Budgets, schedules and the check of certificates go by the clock.", "set the clock: `timedatectl set-ntp true`")
			return
		}
	}
	r.ok("The clock says %s.", now.Format("2006-01-02 15:04:05 MST"))
}

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
	dir := r.cfg.StateDir()
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

// timeSyncs returns the median time of a small synced write in a directory. timeSyncs removes
// the name of the test file at once, so that the file disappears with the program.
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
