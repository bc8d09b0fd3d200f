package backup

import (
	"archive/tar"
	"testing"
)

// TestFilesAreBounded: an archive of empty files is none either.
func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	b := boundOf(1 << 20)
	for n := range maxFiles {
		if err := b.take(&tar.Header{}); err != nil {
			t.Fatalf("file %d: %v", n, err)
		}
	}
	if err := b.take(&tar.Header{}); err == nil {
		t.Errorf("there may be more than %d files", maxFiles)
	}
}
