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
	for _, e := range []edit{set("a", first), set("b", first), set("c", second), forget("a"), set("b", first)} {
		f.pending = append(f.pending, &change{edit: e, done: make(chan error, 1)})
	}
	batch := f.pending
	f.mu.Lock()
	f.writePendingLocked()
	f.mu.Unlock()
	for i, c := range batch {
		if err := <-c.done; (err != nil) != (i == 1) {
			t.Errorf("change %d: %v", i, err)
		}
	}
	b, err := os.ReadFile(f.path)
	check.OK(t, err)
	if want := format(map[core.ChannelKey]string{"b": first, "c": second}); string(b) != string(want) {
		t.Errorf("file = %s, want %s", b, want)
	}
}
