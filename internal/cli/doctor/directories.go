package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"bareclaw/internal/privatedir"
)

const moveState = "set BARECLAW_STATE_DIR to a directory on a local disk"

func checkDirectories(_ context.Context, l *look) []Finding {
	var found []Finding
	if dir := l.cfg.StateDir; dir != "" {
		found = append(found, checkState(dir)...)
	}
	if l.cfg.RuntimeDir != "" {
		found = append(found, checkRuntime(l, l.holder().alive)...)
	}
	if dir := l.cfg.CWD; dir != "" && unix.Access(dir, unix.W_OK|unix.X_OK) != nil {
		command := "set BARECLAW_CWD to a directory of yours"
		if info, err := os.Stat(dir); err == nil && owner(info) == os.Getuid() {
			command = "chmod u+rwx " + quote(dir)
		}
		found = append(found, problem("cwd_unwritable", "claude's directory "+dir+" (BARECLAW_CWD) cannot be written.",
			"Session ids are kept there, and claude works there.", command))
	}
	return found
}

// owner returns the user id of a file's owner.
func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

func checkState(dir string) []Finding {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return []Finding{checkParent(dir)}
	}
	found := checkPrivate(dir, info, err, "state_open", "BARECLAW_STATE_DIR", "It holds every message, and who can write there can command the gateway.")
	if len(found) > 0 && found[0].Code == "directory_unusable" {
		return found
	}
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return found
	}
	if kind := fileSystem(&s); unfit(kind) != "" {
		found = append(found, warning("state_file_system", fmt.Sprintf("The state directory %s is on %s.", dir, kind), unfit(kind), moveState))
	}
	if len(found) == 0 {
		found = append(found, ok("The state directory %s is private and can be written.", dir))
	}
	return found
}

// checkParent checks whether a missing directory can be created.
func checkParent(dir string) Finding {
	parent := existing(dir)
	if err := unix.Access(parent, unix.W_OK|unix.X_OK); err != nil {
		return problem("directory_unusable", fmt.Sprintf("%s cannot be made: %s: %v.", dir, parent, err),
			"The gateway does not start without it.", "`mkdir -p -m 700 "+quote(dir)+"`, as a user who may")
	}
	return note("state_missing", "The state directory "+dir+" does not exist yet.", "The gateway makes it when it is started for the first time.", "")
}

// existing returns the nearest existing directory at or above a path.
func existing(dir string) string {
	for !exists(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return dir
}

// checkPrivate checks whether the gateway's user, and no other user, can use the
// directory named by the variable.
func checkPrivate(dir string, info fs.FileInfo, err error, open, variable, why string) []Finding {
	unusable := func(what string) []Finding {
		return []Finding{problem("directory_unusable", dir+" "+what+".", "The gateway does not start without it.", "ls -ld "+quote(dir))}
	}
	switch {
	case err != nil:
		return unusable("cannot be looked at: " + err.Error())
	case !info.IsDir():
		return unusable("is not a directory")
	}
	if uid := owner(info); uid != os.Getuid() {
		return []Finding{problem("directory_owner", fmt.Sprintf("%s belongs to another user (uid %d).", dir, uid),
			"Was the gateway started with sudo once? "+why, fmt.Sprintf("`chown -R %d %s`, as root", os.Getuid(), quote(dir)))}
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return unusable("cannot be written: " + err.Error())
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		if privatedir.Shared(dir, info) { // mode 0700 would lock out the directory's other users
			return []Finding{problem(open, fmt.Sprintf("%s is open to others (mode %04o), and not for the gateway alone.", dir, mode), why,
				"set "+variable+" to a directory of its own, as "+quote(filepath.Join(dir, "bareclaw")))}
		}
		return []Finding{problem(open, fmt.Sprintf("%s is open to others (mode %04o).", dir, mode), why, "chmod 700 "+quote(dir)).
			by(func(context.Context) error { return os.Chmod(dir, 0o700) })}
	}
	return nil
}

func checkRuntime(l *look, running bool) []Finding {
	dir := l.cfg.RuntimeDir
	info, err := os.Stat(dir)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case missing && running:
		again := "start the gateway anew; `loginctl enable-linger` keeps the directory"
		if l.keeper() == nil {
			again = "`bareclaw service install`, or " + again
		}
		return []Finding{problem("runtime_missing", "The runtime directory "+dir+" is gone while the gateway runs.",
			"Its sockets were there: sessions cannot be taken up, and commands do not reach it. Some systems remove it at logout.", again)}
	case missing:
		return nil
	}
	if found := checkPrivate(dir, info, err, "runtime_open", "BARECLAW_RUNTIME_DIR", "Its sockets command the gateway and its sessions."); len(found) > 0 {
		return found
	}
	return []Finding{ok("The runtime directory %s is private and can be written.", dir)}
}

// The risks of keeping the ledger on an unfit file system.
const (
	overNetwork = "Over a network, locks and syncs are not always what they say: the ledger may be damaged when a connection breaks."
	inMemory    = "It is in memory: every message and its outcome are gone when the machine is switched off."
)

// unfit returns why a kind of file system is bad for lasting data, empty if no reason is
// known.
func unfit(kind string) string {
	switch kind {
	case "nfs", "smbfs", "cifs", "afpfs", "webdav", "9p", "ceph", "afs", "fuse":
		return overNetwork
	case "tmpfs", "ramfs":
		return inMemory
	}
	return ""
}
