package claude

import (
	"testing"

	"bareclaw/internal/testkit/realclaude"
)

func TestTheNewestTestedVersionIsTheOneOfTheTests(t *testing.T) {
	t.Parallel()
	if TestedTo != realclaude.Version {
		t.Errorf("TestedTo is %s, and the tests run with %s", TestedTo, realclaude.Version)
	}
}
