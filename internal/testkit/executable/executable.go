// Package executable writes programs that a test then runs.
package executable

import (
	"os"
	"syscall"
)

// Write writes a file that is about to be executed, with mode 0755. A process that another
// goroutine starts meanwhile would inherit the open file for a moment, and the kernel
// refuses to execute a file that is open for writing (ETXTBSY): Write keeps processes of
// this program from being started while the file is open.
func Write(path string, content []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, content, 0o755)
}
