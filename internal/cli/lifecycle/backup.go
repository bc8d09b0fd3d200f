package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bareclaw/core/config"
	"bareclaw/core/ledger"
	"bareclaw/internal/cli/backup"
	"bareclaw/internal/cli/command"
)

// Backup copies the state of the gateway into one file. The gateway may run.
type Backup struct {
	File  string `arg:"" help:"The file to write; it must not exist."`
	Media bool   `help:"Also the files that were received, which can be large."`
}

// Run writes the backup.
func (b *Backup) Run(c *command.Context, cfg config.Config) error {
	if b.File == "-" {
		return command.Usagef("a backup is written to a file of its own, not to standard output; give it a name")
	}
	if _, err := os.Lstat(b.File); err == nil {
		return isThere(b.File)
	}
	work, err := os.MkdirTemp(filepath.Dir(b.File), ".bareclaw-backup-") // there is room beside the backup, if anywhere
	if err != nil {
		return fmt.Errorf("make room for a copy of the ledger: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	copied := filepath.Join(work, backup.Ledger)
	if err := ledger.Copy(filepath.Join(cfg.StateDir, backup.Ledger), copied); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is nothing to back up: %s holds no ledger", cfg.StateDir)
		}
		return err
	}
	if err := c.Context.Err(); err != nil { // Ctrl-C
		return err
	}
	v, err := ledger.Check(copied)
	if err != nil {
		return err
	}
	part := filepath.Join(work, "backup")
	saved, err := b.write(c.Context, cfg, part, copied, backup.About{Version: c.Version, Schema: v.Schema, MadeAt: time.Now().UTC()})
	if err != nil {
		return err
	}
	if err := c.Context.Err(); err != nil { // Ctrl-C
		return err
	}
	if err := name(part, b.File); err != nil {
		return err
	}
	c.Sayf("Saved in %s: %s.", b.File, strings.Join(saved, ", "))
	c.Sayf("It holds secrets if .env does, and what was said on all channels. Claude's own transcripts (~/.claude) are not in it.")
	return nil
}

// name moves the finished backup to its name, and never replaces another file.
func name(written, file string) error {
	err := os.Link(written, file)
	if err != nil && !errors.Is(err, fs.ErrExist) { // a file system without links, such as a memory stick's
		var f *os.File
		if f, err = os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			err = errors.Join(f.Close(), os.Rename(written, file))
		}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return isThere(file)
	case err != nil:
		return fmt.Errorf("write the backup: %w", err)
	}
	return nil
}

func isThere(file string) error { return fmt.Errorf("%s is there already; give another name", file) }

// write writes the archive and lists its contents.
func (b *Backup) write(ctx context.Context, cfg config.Config, path, copied string, a backup.About) (saved []string, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write the backup: %w", err)
	}
	defer func() {
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			err = fmt.Errorf("write the backup: %w", err)
		}
	}()
	w, err := backup.NewWriter(ctx, f, a)
	if err != nil {
		return nil, err
	}
	env, err := envParts()
	if err != nil {
		return nil, err
	}
	for _, p := range slices.Concat([]part{{backup.Ledger, copied, "the ledger"}}, stateParts(cfg), env) {
		added, err := w.Add(p.name, p.path)
		if err != nil {
			return nil, err
		}
		if added {
			saved = append(saved, p.what)
		}
	}
	if b.Media {
		n, err := w.AddMedia(filepath.Join(cfg.StateDir, "media"))
		if err != nil {
			return nil, err
		}
		saved = append(saved, fmt.Sprintf("%d received files", n))
	}
	return saved, w.Close()
}

// notesName is the file of claude's own notes in the configuration directory.
const notesName = "notes.md"

// A part is a separate file of a backup.
type part struct {
	name, path, what string
}

// envParts are the files of settings, which are read before everything else.
func envParts() ([]part, error) {
	files, err := config.DotEnvFiles()
	if err != nil {
		return nil, err
	}
	names := []part{{name: backup.WorkingEnv, what: "settings of this directory with their secrets"}, {name: backup.ConfigEnv, what: "settings with their secrets"}}
	var all []part
	for i, path := range files {
		if i > 0 && path == all[0].path {
			break
		}
		names[i].path = path
		all = append(all, names[i])
	}
	return all, nil
}

// stateParts are the other files except the ledger.
func stateParts(cfg config.Config) []part {
	return []part{
		{backup.Sessions, cfg.SessionFile, "session ids"},
		{backup.Notes, filepath.Join(cfg.ConfigDir, notesName), "Claude's notes"},
	}
}

// same reports whether two files have the same contents.
func same(a, b string) bool {
	x, err := os.ReadFile(a)
	if err != nil {
		return false
	}
	y, err := os.ReadFile(b)
	return err == nil && bytes.Equal(x, y)
}

// copyTree copies a file or a directory for this user alone. It fails when ctx ends.
func copyTree(ctx context.Context, from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if e.IsDir() {
			return os.Mkdir(target, 0o700)
		}
		return copyFile(ctx, path, target)
	})
}

func copyFile(ctx context.Context, from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, backup.Until(ctx, in))
	return errors.Join(err, out.Sync(), out.Close())
}
