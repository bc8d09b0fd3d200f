package adapters

import "bareclaw/core/config"

// An Examination is what a check of `bareclaw doctor` is about, and takes its findings.
type Examination struct {
	Findings
	Config  config.Config
	Offline bool // use no network
	// IsWrong reports whether the value of a variable cannot be used.
	IsWrong func(variable string) bool
	// Running is the state of the adapter in the gateway that runs; nil: it does not run, or not
	// with this adapter. Facts are as JSON gives them.
	Running *Health
}

// Findings takes the findings of a check. The code is a stable word, what and why are sentences,
// and command is what mends it. Texts need not be safe for a terminal.
type Findings interface {
	OK(format string, args ...any)
	Note(code, what, why, command string)
	Problem(code, what, why, command string)
}
