package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// A machine is what the figures were taken on.
type machine struct {
	cpu, system, goVersion string
	cores                  int
	fileSystem             string // of the state directories
	// load is the load average of the minute before the run: how much others
	// use the machine. Empty where it is unknown.
	load string
}

// describe says what this machine is, and what file system dir is on.
func describe(dir string) (machine, error) {
	m := machine{cpu: runtime.GOARCH, cores: runtime.NumCPU(), system: runtime.GOOS, goVersion: runtime.Version()}
	err := m.detail(dir)
	return m, err
}

// pageBytes is what one commit of the ledger writes at least.
const pageBytes = 4096

// syncTimes overwrites pages of a file that has its blocks already, each followed by
// fdatasync, and returns how long each took.
func syncTimes(dir string, count int) (times []time.Duration, err error) {
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	const pages = 256
	_, err = f.Write(make([]byte, pages*pageBytes))
	err = errors.Join(err, f.Sync())
	page := make([]byte, pageBytes)
	for i := 0; i < count && err == nil; i++ {
		page[0] = byte(i)
		began := time.Now()
		_, err = f.WriteAt(page, int64(i%pages)*pageBytes)
		err = errors.Join(err, datasync(f))
		times = append(times, time.Since(began))
	}
	return times, err
}
