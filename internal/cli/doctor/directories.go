package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bareclaw/internal/privatedir"
)

const moveState = "set BARECLAW_STATE_DIR to a directory on a local disk"

func checkDirectories(_ context.Context, r *report) {
	if dir := r.cfg.StateDir; dir != "" {
		checkState(r, dir)
	}
	if dir := r.cfg.RuntimeDir; dir != "" {
		checkRuntime(r, dir)
	}
	if dir := r.cfg.CWD; dir != "" && unix.Access(dir, unix.W_OK|unix.X_OK) != nil {
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
	info, err := os.Stat(dir)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case missing && r.holder().alive:
		again := "start the gateway anew; `loginctl enable-linger` keeps the directory"
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
	if dir := r.cfg.StateDir; dir != "" {
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
