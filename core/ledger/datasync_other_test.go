//go:build !linux

package ledger_test

import "os"

func datasync(f *os.File) error { return f.Sync() }
