package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// SnapshotsDir returns the directory with the snapshots of a tools directory.
func SnapshotsDir(tools string) string { return filepath.Join(filepath.Dir(tools), "snapshots") }

// SnapshotFile is the file that describes a snapshot; a directory without the file is none.
const SnapshotFile = "metadata.json"

// A Snapshot describes a copy of the tools directory.
type Snapshot struct {
	ID        string    `json:"id"` // the name, _ and the milliseconds since 1970
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"createdAt"`
	ToolCount int       `json:"toolCount"`
}

// Snapshots returns the snapshots in a directory, the newest first; none if there is no
// directory.
func Snapshots(dir string) ([]Snapshot, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the snapshots: %w", err)
	}
	var all []Snapshot
	for _, e := range entries {
		var sn Snapshot
		b, err := os.ReadFile(filepath.Join(dir, e.Name(), SnapshotFile))
		if err != nil || json.Unmarshal(b, &sn) != nil || strings.HasPrefix(e.Name(), ".") {
			continue // no snapshot, or a part of one
		}
		sn.ID = e.Name()
		all = append(all, sn)
	}
	slices.SortFunc(all, func(a, b Snapshot) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID))
	})
	return all, nil
}
