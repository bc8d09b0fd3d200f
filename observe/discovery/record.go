package discovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bareclaw/internal/atomicfile"
	"bareclaw/internal/proc"
)

// A Record describes an observer that has been started on this machine.
type Record struct {
	ID      string    `json:"id"` // lowercase letters, digits and -, at most maxID
	PID     int       `json:"pid"`
	Start   uint64    `json:"start"` // of the process, as proc.StartTime gives it
	Boot    string    `json:"boot"`  // as proc.BootID gives it
	Dir     string    `json:"dir"`   // of the app, absolute
	Target  string    `json:"target,omitempty"`
	App     string    `json:"app,omitempty"` // where the app answers; empty: it did not yet
	Proxy   string    `json:"proxy"`         // the address to open, such as http://127.0.0.1:4400
	Port    int       `json:"port"`          // of the API
	Channel string    `json:"channel,omitempty"`
	Notify  string    `json:"notify,omitempty"`
	Command string    `json:"command,omitempty"` // masked
	Started time.Time `json:"started"`
}

// Own returns a Record with what tells this process from all others. The rest is left to the caller.
func Own(id string) (Record, error) {
	pid := os.Getpid()
	start, err := proc.StartTime(pid)
	if err != nil {
		return Record{}, err
	}
	boot, err := proc.BootID()
	if err != nil {
		return Record{}, err
	}
	return Record{
		ID:      id,
		PID:     pid,
		Start:   start,
		Boot:    boot,
		Started: time.Now().UTC(),
	}, nil
}

// Alive reports whether the observer's process runs.
func (r *Record) Alive() bool {
	boot, err := proc.BootID()
	if err == nil && boot != r.Boot {
		return false
	}
	return proc.Alive(r.PID, r.Start)
}

const (
	// maxID bounds the id of an observer, in bytes.
	maxID = 64
	// maxRecord bounds the file of a record, in bytes.
	maxRecord = 64 << 10
	recordExt = ".json"
)

// Records is the directory of the records. All methods are safe for use by several processes at once.
type Records string

// RecordsOf returns the directory of the records of a gateway with its state in a directory.
func RecordsOf(stateDir string) Records { return Records(filepath.Join(stateDir, "observe")) }

// path returns the path of a record.
func (d Records) path(id string) (string, error) {
	strange := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	}
	if id == "" || len(id) > maxID || strings.ContainsFunc(id, strange) {
		return "", fmt.Errorf("%.80q is not an id of an observer: these are lowercase letters, digits and -", id)
	}
	return filepath.Join(string(d), id+recordExt), nil
}

// Write writes a record, in place of the one with its id.
func (d Records) Write(r Record) error {
	path, err := d.path(r.ID)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	return atomicfile.WriteJSON(path, r)
}

// Remove removes a record, if it is there.
func (d Records) Remove(id string) error {
	path, err := d.path(id)
	if err != nil {
		return err
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// All returns the records, of observers that run and of others, the oldest first. The error names the files
// that are no records; the others are returned all the same.
func (d Records) All() ([]Record, error) {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Record
	var errs []error
	for _, e := range entries {
		id, isRecord := strings.CutSuffix(e.Name(), recordExt)
		if !isRecord || strings.HasPrefix(id, ".") {
			continue
		}
		r, err := d.read(id)
		switch {
		case err == nil:
			all = append(all, r)
		case !errors.Is(err, fs.ErrNotExist): // else it was removed just now
			errs = append(errs, err)
		}
	}
	slices.SortStableFunc(all, func(a, b Record) int { return a.Started.Compare(b.Started) })
	return all, errors.Join(errs...)
}

func (d Records) read(id string) (Record, error) {
	path, err := d.path(id)
	if err != nil {
		return Record{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return Record{}, err
	}
	if info.Size() > maxRecord {
		return Record{}, fmt.Errorf("%s is too large for a record: remove it", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Record{}, err
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return Record{}, fmt.Errorf("%s is not a record of an observer: remove it: %w", path, err)
	}
	if r.ID != id || r.PID <= 0 {
		return Record{}, fmt.Errorf("%s is not a record of the observer %s: remove it", path, id)
	}
	return r, nil
}

// Live returns the records of observers that run, the oldest first. The error is that of All.
func (d Records) Live() ([]Record, error) {
	all, err := d.All()
	return slices.DeleteFunc(all, func(r Record) bool { return !r.Alive() }), err
}
