package claude

import (
	"testing"

	"bareclaw/internal/claudecli"
)

func TestTheNewestTestedVersionIsTheOneOfTheTests(t *testing.T) {
	t.Parallel()
	if TestedTo != claudecli.Version {
		t.Errorf("TestedTo is %s, and the tests run with %s", TestedTo, claudecli.Version)
	}
}
