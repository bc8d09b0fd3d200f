//go:build !linux

package doctor

import "fmt"

// listener returns the advice to find the program that listens on a port.
func listener(port int) string {
	return fmt.Sprintf("another program (`lsof -nP -iTCP:%d -sTCP:LISTEN` names it)", port)
}
