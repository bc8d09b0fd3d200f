// Package http tests the gateway as a client of its HTTP API sees it.
package http

import (
	"testing"

	"bareclaw/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
