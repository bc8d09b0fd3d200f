package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// unfinishedName is a file in the state directory while a restore is changing that.
const unfinishedName = "restore-unfinished"

// Unfinished returns an error for a state directory in which a restore was cut short: it
// is partly the old one.
func Unfinished(stateDir string) error {
	_, err := os.Stat(filepath.Join(stateDir, unfinishedName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find whether a restore was cut short: %w", err)
	}
	return fmt.Errorf("a restore was cut short in %s, which is neither the old state nor the new one: run `bareclaw restore --force FILE` again; "+
		"what it has moved aside has .before-restore- in its name", stateDir)
}

// begin notes that the state directory is being changed, until endRestore. A restore
// that takes everything back takes that back too, unless an earlier one had left it.
func (p *placing) begin(stateDir string) error {
	f, err := os.OpenFile(filepath.Join(stateDir, unfinishedName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		return fmt.Errorf("note that a restore begins: %w", err)
	}
	p.back = append(p.back, func() error { return endRestore(stateDir) })
	return nil
}

func endRestore(stateDir string) error {
	if err := os.Remove(filepath.Join(stateDir, unfinishedName)); err != nil {
		return fmt.Errorf("note that the restore is over: %w", err)
	}
	return nil
}
