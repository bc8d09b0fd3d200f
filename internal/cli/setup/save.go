package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bareclaw/core/config"
	"bareclaw/internal/term"
)

// saveStep is the step that writes the settings.
type saveStep struct{ *wizard }

// run writes the choices so far, and creates the file of Claude's notes.
func (w saveStep) run(context.Context) (Outcome, error) {
	names, err := w.write()
	if err != nil {
		return Outcome{}, err
	}
	notes, err := w.makeNotes()
	if err != nil {
		return Outcome{}, err
	}
	where := term.SafeLine(w.path)
	switch {
	case len(names) > 0:
		where = "wrote " + strings.Join(names, ", ") + " to " + where
	case w.wrote:
		where = "closed " + where + " to others"
	case missing(w.path):
		where = "every setting has its default, so there is no " + where
	default:
		where += " is as it should be"
	}
	if notes != "" {
		where += "; made " + term.SafeLine(notes) + " for Claude's notes"
	}
	if len(names) == 0 && !w.wrote && notes == "" {
		return unchanged(where), nil
	}
	return done(where), nil
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// notesText is the beginning of the file of Claude's notes.
const notesText = `# Notes
What Claude keeps across conversations and channels. Yours to read and to change.
`

// makeNotes creates the file of Claude's notes beside the user's settings, and returns the
// path of a new file.
func (w saveStep) makeNotes() (string, error) {
	_, dir, err := config.UserDirs()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the directory of notes: %w", err)
	}
	path := filepath.Join(dir, "notes.md")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return "", nil
	}
	if err == nil {
		_, err = f.WriteString(notesText)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return "", fmt.Errorf("make the file of notes: %w", err)
	}
	return path, nil
}
