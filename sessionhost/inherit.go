package sessionhost

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"
)

// inherited reads what the daemon passed and marks the descriptors so that
// claude does not inherit them.
func inherited() (bootstrap, *os.File, *os.File, error) {
	for _, fd := range []int{fdBootstrap, fdListener, fdLock} {
		syscall.CloseOnExec(fd)
	}
	pipe := os.NewFile(fdBootstrap, "bootstrap")
	if pipe == nil {
		return bootstrap{}, nil, nil, fmt.Errorf("read bootstrap: descriptor %d is not open", fdBootstrap)
	}
	defer func() { _ = pipe.Close() }()
	var b bootstrap
	if err := json.NewDecoder(pipe).Decode(&b); err != nil {
		return bootstrap{}, nil, nil, fmt.Errorf("read bootstrap (this command is started by the daemon only): %w", err)
	}
	if b.Version != protocolVersion {
		return bootstrap{}, nil, nil, fmt.Errorf("read bootstrap: version %d, want %d", b.Version, protocolVersion)
	}
	return b, os.NewFile(fdListener, "listener"), os.NewFile(fdLock, "lock"), nil
}
