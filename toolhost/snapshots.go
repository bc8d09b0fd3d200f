package toolhost

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"bareclaw/internal/atomicfile"
	"bareclaw/toolhost/api"
)

// Names of snapshots that the gateway makes.
const (
	initialName = "initial"         // before the first change
	rescueName  = "before_rollback" // before a rollback, of what the rollback replaces
)

// snapshots keeps copies of the tools directory. Its methods must not be called concurrently.
type snapshots struct {
	tools string // the tools directory
	dir   string // of the copies
	keep  int    // how many copies are kept, beside the initial one
}

func newSnapshots(tools string, keep int) *snapshots {
	return &snapshots{tools: tools, dir: api.SnapshotsDir(tools), keep: keep}
}

// maxSnapshotName is the length of the longest name, in bytes.
const maxSnapshotName = 64

// checkSnapshotName returns why people cannot use a name for a snapshot.
func checkSnapshotName(name string) error {
	switch form := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`); {
	case !form.MatchString(name) || len(name) > maxSnapshotName:
		return fmt.Errorf("name: %q must be 1 to 64 letters, digits and . _ -, and begin with a letter or digit", name)
	case name == initialName || name == rescueName:
		return fmt.Errorf("name: the gateway uses %q itself; choose another name", name)
	}
	return nil
}

// create copies the tools directory, and removes the oldest copies beyond the limit.
func (s *snapshots) create(name string, toolCount int) (api.Snapshot, error) {
	sn, err := s.copy(name, toolCount)
	if err == nil {
		s.prune()
	}
	return sn, err
}

// copy copies the tools directory. Nobody finds a copy before it is whole.
func (s *snapshots) copy(name string, toolCount int) (api.Snapshot, error) {
	sn := api.Snapshot{Name: name, CreatedAt: time.Now().UTC().Truncate(time.Millisecond), ToolCount: toolCount}
	sn.ID = fmt.Sprintf("%s_%d", name, sn.CreatedAt.UnixMilli())
	for isThere(filepath.Join(s.dir, sn.ID)) { // made in the same millisecond
		sn.CreatedAt = sn.CreatedAt.Add(time.Millisecond)
		sn.ID = fmt.Sprintf("%s_%d", name, sn.CreatedAt.UnixMilli())
	}
	part := filepath.Join(s.dir, "."+sn.ID) // hidden, so a rest is no snapshot
	err := errors.Join(os.MkdirAll(part, 0o700), os.MkdirAll(s.tools, 0o700))
	if err == nil {
		err = copyTree(s.tools, filepath.Join(part, "tools"))
	}
	if err == nil {
		err = atomicfile.WriteJSON(filepath.Join(part, api.SnapshotFile), sn)
	}
	if err == nil {
		err = os.Rename(part, filepath.Join(s.dir, sn.ID))
	}
	if err != nil {
		_ = removeTree(part) // or at the next start
		return api.Snapshot{}, fmt.Errorf("keep a snapshot of the tools: %w", err)
	}
	return sn, nil
}

// list returns the snapshots, the newest first.
func (s *snapshots) list() ([]api.Snapshot, error) { return api.Snapshots(s.dir) }

// find returns a snapshot by its id; without an id the most recent one that nobody needs to
// undo a rollback.
func (s *snapshots) find(id string) (api.Snapshot, error) {
	all, err := s.list()
	if err != nil {
		return api.Snapshot{}, err
	}
	i := slices.IndexFunc(all, func(sn api.Snapshot) bool { return sn.ID == id || id == "" && sn.Name != rescueName })
	switch {
	case i >= 0:
		return all[i], nil
	case id == "":
		return api.Snapshot{}, errors.New("there is no snapshot; worker_snapshot makes one")
	}
	return api.Snapshot{}, fmt.Errorf("there is no snapshot %q; worker_snapshots lists all", id)
}

// makeInitial keeps the first state of the tools, unless that is kept already.
func (s *snapshots) makeInitial(toolCount int) error {
	all, err := s.list()
	if err != nil || slices.ContainsFunc(all, func(sn api.Snapshot) bool { return sn.Name == initialName }) {
		return err
	}
	_, err = s.create(initialName, toolCount)
	return err
}

// restore makes the tools directory a copy of a snapshot. The present tools are kept as a
// snapshot of their own.
func (s *snapshots) restore(sn api.Snapshot, toolCount int) error {
	if err := s.finish(); err != nil {
		return err
	}
	if _, err := s.copy(rescueName, toolCount); err != nil {
		return err
	}
	defer s.prune() // only now: the snapshot may be the oldest
	from := filepath.Join(s.dir, sn.ID, "tools")
	part, next := s.beside("part"), s.beside("next")
	err := copyTree(from, part)
	if err == nil {
		err = os.Rename(part, next)
	}
	if err == nil {
		err = s.swap()
	}
	if err != nil {
		err = s.restoreInside(from)
		_ = errors.Join(removeTree(part), removeTree(next)) // or at the next start
	}
	if err != nil {
		return fmt.Errorf("roll back to %s: %w", sn.ID, err)
	}
	return nil
}

// beside returns a path that can be renamed to the tools directory.
func (s *snapshots) beside(what string) string {
	return filepath.Join(filepath.Dir(s.tools), "."+filepath.Base(s.tools)+"."+what)
}

// swap replaces the tools directory by the next one. If the process is killed meanwhile,
// finish completes the work. A directory that is a mount or a symbolic link cannot be replaced, nor
// one in a directory of somebody else.
func (s *snapshots) swap() error {
	st, err := os.Lstat(s.tools)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return fmt.Errorf("%s is a symbolic link", s.tools)
	}
	old := s.beside("old")
	if err := os.Rename(s.tools, old); err != nil {
		return err
	}
	if err := os.Rename(s.beside("next"), s.tools); err != nil {
		return errors.Join(err, os.Rename(old, s.tools))
	}
	_ = removeTree(old) // or at the next start
	return nil
}

// finish completes a rollback that was cut, removes what cut copies have left, and makes a missing
// tools directory.
func (s *snapshots) finish() error {
	if next := s.beside("next"); !isThere(s.tools) && isThere(next) {
		if err := os.Rename(next, s.tools); err != nil {
			return fmt.Errorf("finish the rollback of the tools: %w", err)
		}
	}
	rests, _ := filepath.Glob(filepath.Join(s.dir, ".*")) // the pattern is right
	for _, rest := range append(rests, s.beside("part"), s.beside("next"), s.beside("old")) {
		_ = removeTree(rest) // does no harm
	}
	if err := os.MkdirAll(s.tools, 0o700); err != nil {
		return fmt.Errorf("make the tools directory (BARECLAW_TOOLS_DIR): %w", err)
	}
	return nil
}

// restoreInside replaces the contents of the tools directory.
func (s *snapshots) restoreInside(from string) error {
	entries, err := os.ReadDir(s.tools)
	for _, e := range entries {
		err = errors.Join(err, removeTree(filepath.Join(s.tools, e.Name())))
	}
	if err != nil {
		return err
	}
	return copyEntries(from, s.tools)
}

// prune removes the oldest snapshots beyond the limit, but never the initial one. The limit counts
// for people's snapshots and for those before rollbacks: a tool host that crashes for ever must
// not push out the former.
func (s *snapshots) prune() {
	all, err := s.list()
	if err != nil {
		return // the next snapshot tries again
	}
	kept := map[bool]int{}
	for _, sn := range all {
		if sn.Name == initialName {
			continue
		}
		rescue := sn.Name == rescueName
		if kept[rescue]++; kept[rescue] > s.keep {
			_ = removeTree(filepath.Join(s.dir, sn.ID)) // likewise
		}
	}
}

// copyTree copies a directory to a new one, with all modes.
func copyTree(from, to string) error {
	st, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	if err := copyEntries(from, to); err != nil {
		return err
	}
	return os.Chmod(to, st.Mode()) // last: the mode may forbid writing
}

// copyEntries copies all files, directories and symbolic links of a directory.
func copyEntries(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		source, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		switch e.Type() {
		case 0:
			err = copyFile(source, target)
		case fs.ModeDir:
			err = copyTree(source, target)
		case fs.ModeSymlink:
			var path string
			if path, err = os.Readlink(source); err == nil {
				err = os.Symlink(path, target)
			}
		default: // a pipe or socket is no part of a tool
		}
		if err != nil && isThere(source) { // an editor may have removed its temporary file
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(st.Mode()), out.Sync(), out.Close())
}

// removeTree removes a directory with all in it, also if modes forbid that.
func removeTree(path string) error {
	_ = filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	}) // RemoveAll reports errors
	return os.RemoveAll(path)
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
