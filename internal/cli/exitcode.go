package cli

// Exit statuses of all commands.
const (
	ExitOK          = 0
	ExitFailed      = 1   // what was asked for failed, or something is wrong
	ExitUsage       = 2   // bad arguments or configuration
	ExitUnreachable = 3   // the gateway cannot be reached
	ExitInterrupted = 130 // ended by Ctrl-C
)

