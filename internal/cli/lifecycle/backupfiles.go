package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"bareclaw/core/config"
	"bareclaw/internal/cli/backup"
)

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
