package main

import (
	"runtime"
	"time"
)

// A machine is what the figures were taken on.
type machine struct {
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	System     string `json:"system"`
	Go         string `json:"go"`
	FileSystem string `json:"file_system"` // of the state directories
	// Load is the load average of the minute before the run: how much others
	// use the machine. Empty where it is unknown.
	Load string `json:"load_average,omitempty"`
}

// describe says what this machine is, and what file system dir is on.
func describe(dir string) (machine, error) {
	m := machine{CPU: runtime.GOARCH, Cores: runtime.NumCPU(), System: runtime.GOOS, Go: runtime.Version()}
	err := m.detail(dir)
	return m, err
}

// today is how the report writes a date.
func today(t time.Time) string { return t.Format(time.DateOnly) }
