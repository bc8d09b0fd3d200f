// Package telegram tests the gateway as a person in a Telegram chat sees it.
package telegram

import (
	"testing"

	"bareclaw/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
