// Package docs runs the commands of the documents as printed. Words in capitals stand for
// the reader's own names.
package docs

import (
	"testing"

	"bareclaw/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.MainWithoutRace(m) }
