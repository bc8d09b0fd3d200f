// Package mcp tests the gateway as clients of MCP see it, among them those of other people.
package mcp

import (
	"testing"

	"bareclaw/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
