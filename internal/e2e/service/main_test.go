// Package service tests the gateway and its heartbeat under systemd and launchd.
package service

import (
	"testing"

	"bareclaw/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.MainWithoutRace(m) }
