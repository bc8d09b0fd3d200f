package lifecycle

import (
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
	"bareclaw/core/ledger/sqlite"
	"bareclaw/internal/cli/backup"
	"bareclaw/internal/cli/command"
	"bareclaw/mcp/mounts"
	toolhost "bareclaw/toolhost/api"
)

// Backup copies the state of the gateway into one file. The gateway may run.
type Backup struct {
	File  string `arg:"" help:"The file to write; it must not exist."`
	Media bool   `help:"Also the files that were received, which can be large."`
	JSON  bool   `name:"json" help:"Print JSON."`
}

// Help is shown below the summary.
func (*Backup) Help() string {
	return "The gateway may run.\n\nExample: bareclaw backup ~/bareclaw.tar.gz"
}

// Run writes the backup.
func (b *Backup) Run(c *command.Context, cfg config.Config) error {
	if b.File == "-" {
		return command.Usagef("a backup is written to a file of its own, not to standard output; give it a name")
	}
	if err := isFree(b.File); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(b.File), ".bareclaw-backup-") // there is room beside the backup, if anywhere
	if err != nil {
		return fmt.Errorf("make room for a copy of the ledger: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	copied := filepath.Join(work, backup.Ledger)
	if err := sqlite.Copy(filepath.Join(cfg.StateDir(), backup.Ledger), copied); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is nothing to back up: %s holds no ledger", cfg.StateDir())
		}
		return err
	}
	v, err := sqlite.Check(copied)
	if err != nil {
		return err
	}
	env, err := envParts(c.Role)
	if err != nil {
		return err
	}
	parts := slices.Concat([]backup.Part{{Name: backup.Ledger, Path: copied, What: "the ledger"}}, stateParts(cfg), env, toolParts(cfg))
	if b.Media {
		parts = append(parts, mediaPart(cfg))
	}
	written := filepath.Join(work, "backup")
	f, err := os.OpenFile(written, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	saved, err := backup.Write(c.Context, f, backup.About{Version: c.Version, Schema: v.Schema, MadeAt: time.Now().UTC()}, parts)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	if err := isFree(b.File); err != nil { // made meanwhile
		return err
	}
	if err := os.Rename(written, b.File); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	if b.JSON {
		return c.PrintJSON(map[string]any{"file": b.File, "saved": saved})
	}
	c.Sayf("Saved in %s: %s.", b.File, strings.Join(saved, ", "))
	c.Sayf("It holds secrets if .env or mcp.json does, and what was said on all channels. Claude's own transcripts (~/.claude) are not in it.")
	return nil
}

// isFree fails unless a file may be made.
func isFree(file string) error {
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("%s is there already; give another name", file)
	}
	return nil
}

// envParts are the files of settings, which are read before everything else. That of the working
// directory is one where it counts for the role.
func envParts(role config.Role) (parts []backup.Part, err error) {
	here, users, err := config.DotEnvFiles(role)
	if here != "" {
		parts = append(parts, backup.Part{Name: backup.WorkingEnv, Path: here, What: "settings of this directory with their secrets"})
	}
	if users != "" {
		parts = append(parts, backup.Part{Name: backup.ConfigEnv, Path: users, What: "settings with their secrets"})
	}
	return parts, err
}

// stateParts are the other files except the ledger.
func stateParts(cfg config.Config) []backup.Part {
	return []backup.Part{
		{Name: backup.Sessions, Path: string(cfg.Files.SessionFile), What: "session ids"},
		{Name: backup.Notes, Path: filepath.Join(cfg.ConfigDir, "notes.md"), What: "Claude's notes"},
		{Name: backup.Mounts, Path: filepath.Join(cfg.ConfigDir, mounts.FileName), What: "mounted servers with their secrets"},
	}
}

func mediaPart(cfg config.Config) backup.Part {
	return backup.Part{Name: backup.Media, Path: filepath.Join(cfg.StateDir(), "media"), What: "received"}
}

// toolParts are the tools directory and its snapshots, as far as there are files. The directory
// of snapshots may have entries of others, which are not saved.
func toolParts(cfg config.Config) (parts []backup.Part) {
	if entries, err := os.ReadDir(cfg.ToolsDir()); err == nil && len(entries) > 0 {
		parts = append(parts, backup.Part{Name: backup.Tools, Path: cfg.ToolsDir(), What: "of tools"})
	}
	dir := toolhost.SnapshotsDir(cfg.ToolsDir())
	if ids := snapshotsIn(dir); len(ids) > 0 {
		parts = append(parts, backup.Part{Name: backup.Snapshots, Path: dir, What: "of tools' snapshots", Only: ids})
	}
	return parts
}

// snapshotsIn returns the names of the snapshots in a directory, none if it cannot be read.
func snapshotsIn(dir string) (ids []string) {
	all, _ := toolhost.Snapshots(dir)
	for _, sn := range all {
		ids = append(ids, sn.ID)
	}
	return ids
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
