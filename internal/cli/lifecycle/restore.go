package lifecycle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bareclaw/core/config"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/internal/cli/backup"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/statemark"
	"bareclaw/internal/term"
	"bareclaw/sessionhost"
	toolhost "bareclaw/toolhost/api"
)

// Restore puts a backup back. The gateway must not run.
type Restore struct {
	File  string `arg:"" help:"The file that bareclaw backup has written."`
	Force bool   `help:"Restore even where files exist already, and move those aside."`
	Yes   bool   `help:"Agree to all that the backup decides. Needed where there is no terminal to ask at."`
	JSON  bool   `name:"json" help:"Print JSON."`
}

// Help is shown below the summary.
func (*Restore) Help() string {
	return "Before anything is put in place, what the backup decides is listed: settings that run programs or let others in, " +
		"permission modes and rules, schedules, tools. Restore what you have saved yourself, or read the list with care."
}

// Run restores the backup. A failure takes everything back.
func (r *Restore) Run(c *command.Context) (err error) {
	work, err := os.MkdirTemp("", "bareclaw-restore-") // private
	if err != nil {
		return fmt.Errorf("make room for what is restored: %w", err)
	}
	defer func() {
		if left := os.RemoveAll(work); left != nil {
			err = errors.Join(err, fmt.Errorf("remove what was unpacked: %w", left))
		}
	}()
	a, err := r.unpack(c.Context, work)
	if err != nil {
		return err
	}
	p := &placing{ctx: c.Context, force: r.Force, aside: ".before-restore-" + time.Now().Format("20060102-150405.000")}
	defer func() {
		for _, undo := range slices.Backward(p.back) {
			if err != nil {
				err = errors.Join(err, undo())
			}
		}
	}()
	env, err := envParts(config.AsGateway)
	if err != nil {
		return err
	}
	if err := p.check(c, work, env); err != nil {
		return err
	}
	if err := agree(c, work, env, r.Yes); err != nil {
		return err
	}
	if err := p.putAll(work, env); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(work, backup.WorkingEnv)); err == nil {
		c.Role = config.AsGateway // the file of this directory is the restored one
	}
	cfg, err := c.Config() // only now: restored settings may name other directories
	if err != nil {
		return fmt.Errorf("nothing was restored, since no gateway starts with these settings: %w", err)
	}
	lock, err := lockfile.AcquireState(cfg.StateDir())
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := hostsAtWork(cfg.StateDir()); err != nil {
		return err
	}
	if err := p.putState(work, cfg); err != nil {
		return err
	}
	if err := statemark.ClearRestoring(cfg.StateDir()); err != nil {
		return err
	}
	return r.report(c, p, a)
}

// report says what was restored, what was the same already, and what was moved aside.
func (r *Restore) report(c *command.Context, p *placing, a backup.About) error {
	if r.JSON {
		return c.PrintJSON(map[string]any{
			"version": a.Version, "made_at": a.MadeAt, "restored": append([]string{}, p.what...), "unchanged": append([]string{}, p.same...), "moved_aside": append([]string{}, p.moved...),
		})
	}
	for _, path := range p.moved {
		c.Sayf("Moved aside: %s", path)
	}
	c.Sayf("Restored what bareclaw %s saved on %s: %s.", term.SafeLine(a.Version), a.MadeAt.Local().Format(time.DateTime), strings.Join(p.what, ", "))
	if len(p.same) > 0 {
		c.Sayf("The same already, and left alone: %s.", strings.Join(p.same, ", "))
	}
	if len(p.moved) > 0 {
		c.Sayf("What was moved aside is not used any more: remove it once all is well.")
	}
	return nil
}

// unpack unpacks the backup and checks whether this program can use the contents.
func (r *Restore) unpack(ctx context.Context, work string) (backup.About, error) {
	f, err := os.Open(r.File)
	if err != nil {
		return backup.About{}, fmt.Errorf("open the backup: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return backup.About{}, fmt.Errorf("open the backup: %w", err)
	}
	a, err := backup.Unpack(ctx, f, info.Size(), work)
	if err != nil {
		return a, fmt.Errorf("%s: %w", r.File, err)
	}
	v, err := sqlite.Check(filepath.Join(work, backup.Ledger))
	if err != nil {
		return a, fmt.Errorf("%s: its ledger cannot be used: %w", r.File, err)
	}
	if err := v.Readable(); err != nil {
		return a, fmt.Errorf("%s was saved by bareclaw %s, and its ledger cannot be used: %w", r.File, term.SafeLine(a.Version), err)
	}
	var ids map[string]string
	switch b, err := os.ReadFile(filepath.Join(work, backup.Sessions)); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return a, fmt.Errorf("read the session ids: %w", err)
	case json.Unmarshal(b, &ids) != nil:
		return a, fmt.Errorf("%s: its session ids cannot be read", r.File)
	}
	return a, nil
}

// check returns why the backup cannot be put in place, as far as that is known before anything is: nobody need agree to
// it then. Where new settings are restored, these say where the rest belongs, which is not examined.
func (p *placing) check(c *command.Context, work string, env []backup.Part) error {
	changed, err := p.checkParts(work, env)
	if err != nil || changed {
		return err
	}
	role := c.Role
	if _, err := os.Lstat(filepath.Join(work, backup.WorkingEnv)); err == nil {
		role = config.AsGateway
	}
	cfg, err := config.Load(role)
	if err != nil {
		return nil // is told once the settings are in place
	}
	if _, err := os.Stat(cfg.StateDir()); err == nil {
		lock, err := lockfile.AcquireState(cfg.StateDir())
		if err != nil {
			return err
		}
		defer lock.Release()
		if err := hostsAtWork(cfg.StateDir()); err != nil {
			return err
		}
	}
	for _, path := range oldState(cfg) {
		if _, err := p.inTheWay(path); err != nil {
			return err
		}
	}
	_, err = p.checkParts(work, append(stateParts(cfg), wholeParts(cfg)...))
	return err
}

// checkParts returns why parts of the backup cannot be put in place, and reports whether one is not there already.
func (p *placing) checkParts(work string, all []backup.Part) (changed bool, err error) {
	for _, one := range all {
		from := filepath.Join(work, one.Name)
		if _, err := os.Lstat(from); errors.Is(err, os.ErrNotExist) || isSame(from, one.Path) {
			continue
		}
		changed = true
		if _, err := p.inTheWay(one.Path); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// isSame reports whether two files have the same contents.
func isSame(a, b string) bool {
	one, errOne := os.ReadFile(a)
	other, errOther := os.ReadFile(b)
	return errOne == nil && errOther == nil && bytes.Equal(one, other)
}

// hostsAtWork refuses to replace the records of living sessions.
func hostsAtWork(stateDir string) error {
	sessions, _ := sessionhost.Inspect(stateDir) // the error is about other processes
	if len(sessions.Live) > 0 {
		s := sessions.Live[0]
		return fmt.Errorf("the session of channel %q is still at work (process %d): end it with `bareclaw stop --sessions`",
			term.SafeLine(s.Channel), s.PID)
	}
	if len(sessions.Unread) > 0 {
		return fmt.Errorf("whether a session is still at work cannot be seen: the record %s cannot be read; if no session is alive, remove the record",
			term.SafeLine(sessions.Unread[0]))
	}
	return nil
}

// A placing moves files to their places, and can undo all moves.
type placing struct {
	ctx   context.Context
	force bool
	aside string   // suffix of the files moved aside
	what  []string // descriptions of the restored parts
	same  []string // descriptions of the parts that were there already
	moved []string // paths of the files moved aside
	back  []func() error
}

// putAll restores the parts that the backup has, unless they are there already.
func (p *placing) putAll(work string, all []backup.Part) error {
	for _, one := range all {
		from := filepath.Join(work, one.Name)
		if _, err := os.Lstat(from); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if isSame(from, one.Path) {
			p.same = append(p.same, one.What)
			continue
		}
		if err := p.put(from, one.Path); err != nil {
			return err
		}
		if !slices.Contains(p.what, one.What) {
			p.what = append(p.what, one.What)
		}
	}
	return nil
}

// putState replaces the ledger and its files. Until that is complete no gateway starts.
func (p *placing) putState(work string, cfg config.Config) error {
	marked, err := statemark.MarkRestoring(cfg.StateDir())
	if err != nil {
		return err
	}
	if marked {
		p.back = append(p.back, func() error { return statemark.ClearRestoring(cfg.StateDir()) })
	}
	for _, path := range oldState(cfg) {
		if err := p.clear(path); err != nil {
			return err
		}
	}
	return p.putAll(work, slices.Concat(stateParts(cfg), p.missingSnapshots(work, cfg), wholeParts(cfg)))
}

// oldState are the parts of the old ledger beside its file.
func oldState(cfg config.Config) []string {
	database := databaseOf(cfg)
	return []string{database + "-wal", database + "-shm", filepath.Join(cfg.StateDir(), "hosts")}
}

// wholeParts are the parts that are restored as a whole; the ledger is the last one.
func wholeParts(cfg config.Config) []backup.Part {
	return []backup.Part{
		{Name: backup.Media, Path: mediaPart(cfg).Path, What: "received files"},
		{Name: backup.Tools, Path: cfg.ToolsDir(), What: "tools"},
		{Name: backup.Ledger, Path: databaseOf(cfg), What: "the ledger"},
	}
}

func databaseOf(cfg config.Config) string { return filepath.Join(cfg.StateDir(), backup.Ledger) }

// missingSnapshots are the snapshots of the backup that are not there: the others stay as they
// are, since a snapshot never changes.
func (p *placing) missingSnapshots(work string, cfg config.Config) (parts []backup.Part) {
	const what = "snapshots of tools"
	for _, id := range snapshotsIn(filepath.Join(work, backup.Snapshots)) {
		path := filepath.Join(toolhost.SnapshotsDir(cfg.ToolsDir()), id)
		if _, err := os.Lstat(path); err != nil {
			parts = append(parts, backup.Part{Name: backup.Snapshots + id, Path: path, What: what})
		} else if !slices.Contains(p.same, what) {
			p.same = append(p.same, what)
		}
	}
	return parts
}

// clear moves an existing file aside.
func (p *placing) clear(path string) error {
	there, err := p.inTheWay(path)
	if err != nil || !there {
		return err
	}
	if err := os.Rename(path, path+p.aside); err != nil {
		return fmt.Errorf("move %s aside: %w", path, err)
	}
	p.movedAside(path)
	return nil
}

// inTheWay reports whether a file exists at a path, or why the file may not be moved.
func (p *placing) inTheWay(path string) (bool, error) {
	info, err := os.Lstat(path)
	empty := false // a link to an empty directory is in the way
	if err == nil && info.IsDir() {
		entries, err := os.ReadDir(path)
		empty = err == nil && len(entries) == 0
	}
	switch {
	case errors.Is(err, os.ErrNotExist) || empty: // an empty directory is none
		return false, nil
	case err != nil:
		return false, fmt.Errorf("restore %s: %w", path, err)
	case !p.force:
		return false, fmt.Errorf("%s is there already; with --force it is moved aside", path)
	}
	return true, nil
}

func (p *placing) movedAside(path string) {
	p.moved = append(p.moved, path+p.aside)
	p.back = append(p.back, func() error { return os.Rename(path+p.aside, path) })
}

// put copies a file or directory to its place, and moves an existing one aside. At any
// moment the old or the new file is there.
func (p *placing) put(from, to string) error {
	there, err := p.inTheWay(to)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("restore %s: %w", to, err)
	}
	next, err := os.MkdirTemp(filepath.Dir(to), ".bareclaw-restore-")
	if err != nil {
		return fmt.Errorf("restore %s: %w", to, err)
	}
	defer func() { _ = os.RemoveAll(next) }()
	copied := filepath.Join(next, "it")
	if err := copyTree(p.ctx, from, copied); err != nil {
		return fmt.Errorf("restore %s: %w", to, err)
	}
	linked := there && os.Link(to, to+p.aside) == nil // directories, and files on some file systems, have a single name
	if linked {
		p.movedAside(to)
	} else if err := p.clear(to); err != nil {
		return err
	}
	if err := os.Rename(copied, to); err != nil {
		return fmt.Errorf("restore %s: %w", to, err)
	}
	if !linked { // the renamed link replaces the new file
		p.back = append(p.back, func() error { return os.RemoveAll(to) })
	}
	return nil
}
