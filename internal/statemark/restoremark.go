package statemark

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// restoringName is a file in the state directory while a restore changes the directory.
const restoringName = "restore-unfinished"

// CheckRestored returns an error for a state directory with an unfinished restore. Such a
// directory mixes old and new state.
func CheckRestored(stateDir string) error {
	_, err := os.Stat(filepath.Join(stateDir, restoringName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find whether a restore was cut short: %w", err)
	}
	return fmt.Errorf("a restore was cut short in %s, which is neither the old state nor the new one: run `bareclaw restore --force FILE` again; "+
		"what it has moved aside has .before-restore- in its name", stateDir)
}

// MarkRestoring marks the state directory at the beginning of a restore. It reports false
// if the mark of an earlier restore is there.
func MarkRestoring(stateDir string) (bool, error) {
	f, err := os.OpenFile(filepath.Join(stateDir, restoringName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		return false, fmt.Errorf("note that a restore begins: %w", err)
	}
	return true, nil
}

// ClearRestoring removes the mark: the restore is complete, or taken back.
func ClearRestoring(stateDir string) error {
	if err := os.Remove(filepath.Join(stateDir, restoringName)); err != nil {
		return fmt.Errorf("note that the restore is over: %w", err)
	}
	return nil
}
