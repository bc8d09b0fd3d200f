// Package exitcode lists the exit statuses of the program.
package exitcode

// The exit statuses of all commands and of the daemon.
const (
	OK          = 0
	Failed      = 1   // what was asked for failed, or something is wrong
	Usage       = 2   // bad arguments or configuration
	Unreachable = 3   // the gateway cannot be reached
	Interrupted = 130 // ended by Ctrl-C
)

// Name returns the word for an exit status in a JSON document.
func Name(status int) string {
	switch status {
	case Usage:
		return "usage"
	case Unreachable:
		return "unreachable"
	case Interrupted:
		return "interrupted"
	}
	return "failed"
}
