//go:build !linux

package doctor

import "fmt"

// listener says how to find out who listens on a port.
func listener(port int) string {
	return fmt.Sprintf("another program (`lsof -nP -iTCP:%d -sTCP:LISTEN` names it)", port)
}
