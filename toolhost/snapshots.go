package toolhost

import (
	"context"
	"errors"
	"fmt"
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

// maxSnapshotName is the length of the longest name, in bytes.
const maxSnapshotName = 64

// checkSnapshotName returns why people cannot use a name for a snapshot.
func checkSnapshotName(name string) error {
	switch form := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`); {
	case !form.MatchString(name) || len(name) > maxSnapshotName:
		return fmt.Errorf("name: %.120q must be 1 to 64 letters, digits and . _ -, and begin with a letter or digit", name)
	case name == initialName || name == rescueName:
		return fmt.Errorf("name: the gateway uses %q itself; choose another name", name)
	}
	return nil
}

// create copies the tools directory, and removes the oldest copies beyond the limit.
func (f *toolFiles) create(ctx context.Context, name string, toolCount int) (api.Snapshot, error) {
	f.changing.Lock()
	defer f.changing.Unlock()
	sn, err := f.copy(ctx, name, toolCount)
	if err == nil {
		f.prune()
	}
	return sn, err
}

// copy copies the tools directory. Nobody finds a copy before it is whole.
func (f *toolFiles) copy(ctx context.Context, name string, toolCount int) (api.Snapshot, error) {
	sn := api.Snapshot{Name: name, CreatedAt: time.Now().UTC().Truncate(time.Millisecond), ToolCount: toolCount}
	sn.ID = fmt.Sprintf("%s_%d", name, sn.CreatedAt.UnixMilli())
	for isThere(filepath.Join(f.dir, sn.ID)) { // made in the same millisecond
		sn.CreatedAt = sn.CreatedAt.Add(time.Millisecond)
		sn.ID = fmt.Sprintf("%s_%d", name, sn.CreatedAt.UnixMilli())
	}
	part := f.unfinished()
	err := errors.Join(removeTree(part), os.MkdirAll(part, 0o700), os.MkdirAll(f.tools, 0o700))
	if err == nil {
		err = copyTree(ctx, f.tools, filepath.Join(part, "tools"))
	}
	if err == nil {
		err = atomicfile.WriteJSON(filepath.Join(part, api.SnapshotFile), sn)
	}
	if err == nil {
		err = os.Rename(part, filepath.Join(f.dir, sn.ID))
	}
	if err != nil {
		_ = removeTree(part) // or at the next start
		return api.Snapshot{}, fmt.Errorf("keep a snapshot of the tools: %w", err)
	}
	return sn, nil
}

// unfinished returns the path of the copy that is not whole yet.
func (f *toolFiles) unfinished() string { return filepath.Join(f.dir, ".unfinished") }

// list returns the snapshots, the newest first.
func (f *toolFiles) list() ([]api.Snapshot, error) { return api.Snapshots(f.dir) }

// find returns a snapshot by its id; without an id the most recent one that nobody needs to
// undo a rollback.
func (f *toolFiles) find(id string) (api.Snapshot, error) {
	all, err := f.list()
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
	return api.Snapshot{}, fmt.Errorf("there is no snapshot %.120q; worker_snapshots lists all", id)
}

// makeInitial keeps the first state of the tools, unless that is kept already.
func (f *toolFiles) makeInitial(ctx context.Context, toolCount int) error {
	all, err := f.list()
	if err != nil || slices.ContainsFunc(all, func(sn api.Snapshot) bool { return sn.Name == initialName }) {
		return err
	}
	f.changing.Lock()
	defer f.changing.Unlock()
	_, err = f.copy(ctx, initialName, toolCount)
	return err
}

// restore makes the tools directory a copy of a snapshot. The present tools are kept as a
// snapshot of their own.
func (f *toolFiles) restore(ctx context.Context, sn api.Snapshot, toolCount int) error {
	f.changing.Lock()
	defer f.changing.Unlock()
	if err := f.tidy(); err != nil {
		return err
	}
	if _, err := f.copy(ctx, rescueName, toolCount); err != nil {
		return err
	}
	defer f.prune() // only now: the snapshot may be the oldest
	from := filepath.Join(f.dir, sn.ID, "tools")
	part, next := f.beside("part"), f.beside("next")
	err := copyTree(ctx, from, part)
	if err == nil {
		err = os.Rename(part, next)
	}
	if err == nil {
		err = f.swap()
	}
	if err != nil && ctx.Err() == nil { // else the gateway ends
		err = f.restoreInside(from)
	}
	if isThere(f.tools) { // else finish takes the next one
		_ = errors.Join(removeTree(part), removeTree(next)) // or at the next start
	}
	if err != nil {
		return fmt.Errorf("roll back to %s: %w", sn.ID, err)
	}
	_ = f.good.clear() // what stays serves a file that is broken in the snapshot
	return nil
}

// beside returns a path that can be renamed to the tools directory.
func (f *toolFiles) beside(what string) string {
	return filepath.Join(filepath.Dir(f.tools), "."+filepath.Base(f.tools)+"."+what)
}

// swap replaces the tools directory by the next one. If the process is killed meanwhile,
// finish completes the work. A directory that is a mount or a symbolic link cannot be replaced, nor
// one in a directory of somebody else.
func (f *toolFiles) swap() error {
	st, err := os.Lstat(f.tools)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return fmt.Errorf("%s is a symbolic link", f.tools)
	}
	old := f.beside("old")
	if err := os.Rename(f.tools, old); err != nil {
		return err
	}
	if err := os.Rename(f.beside("next"), f.tools); err != nil {
		return errors.Join(err, os.Rename(old, f.tools))
	}
	_ = removeTree(old) // or at the next start
	return nil
}

// restoreInside replaces the contents of the tools directory.
func (f *toolFiles) restoreInside(from string) error {
	entries, err := os.ReadDir(f.tools)
	for _, e := range entries {
		err = errors.Join(err, removeTree(filepath.Join(f.tools, e.Name())))
	}
	if err != nil {
		return err
	}
	return copyEntries(context.Background(), from, f.tools) // to the end: half of the tools are no state to leave
}

// prune removes the oldest snapshots beyond the limit, but never the initial one. The limit counts
// for people's snapshots and for those before rollbacks: a tool host that crashes for ever must
// not push out the former.
func (f *toolFiles) prune() {
	all, err := f.list()
	if err != nil {
		return // the next snapshot tries again
	}
	kept := map[bool]int{}
	for _, sn := range all {
		if sn.Name == initialName {
			continue
		}
		rescue := sn.Name == rescueName
		if kept[rescue]++; kept[rescue] > f.keep {
			_ = removeTree(filepath.Join(f.dir, sn.ID)) // likewise
		}
	}
}
