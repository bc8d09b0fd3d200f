package sqlite_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		os.Exit(child(path)) // we are the process that gets killed; see crash_test.go
	}
	goleak.VerifyTestMain(m)
}
