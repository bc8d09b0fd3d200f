package sessionfile

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"

	"github.com/google/uuid"
)

// What is pending becomes one new file, in order, and a change that is refused
// does not take the others down.
func TestPendingChangesAreOneWrite(t *testing.T) {
	t.Parallel()
	f, err := Open(filepath.Join(t.TempDir(), "sessions.json"), slog.New(slog.DiscardHandler))
	check.OK(t, err)
	defer func() { _ = f.Close() }()
	first, second := uuid.NewString(), uuid.NewString()
	batch := []*change{{key: "a", id: first}, {key: "b", id: first}, {key: "c", id: second}, {key: "a"}, {key: "b", id: first}}
	f.pending = batch
	f.writePending()
	for i, c := range batch {
		if (c.err != nil) != (i == 1) {
			t.Errorf("change %d: %v", i, c.err)
		}
	}
	b, err := os.ReadFile(f.path)
	check.OK(t, err)
	want, err := format(map[core.ChannelKey]string{"b": first, "c": second})
	check.OK(t, err)
	if string(b) != string(want) {
		t.Errorf("file = %s, want %s", b, want)
	}
}
