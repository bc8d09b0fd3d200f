package observe

import (
	"strings"
	"testing"
)

// TestIgnoredAfterFullDisk: what is kept beside the app does not get into its repository, also if the disk was full at first.
func TestIgnoredAfterFullDisk(t *testing.T) {
	f := newFaulty(t)
	f.SmallDisk("work", "1m")
	free := f.Fill("work")
	r := f.starts()
	free()
	f.get(r, "/secret")
	f.Eventually("what was found is on the disk", func() bool {
		return strings.Contains(f.Contents("work/.brakit/findings.json"), "GET /secret")
	})
	if text := f.Contents("work/.brakit/.gitignore"); text != "*\n" {
		t.Errorf(".gitignore has %q", text)
	}
}
