package host

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"

	"bareclaw/sessionhost/protocol"
)

// inheritedFiles reads the bootstrap, and marks the inherited descriptors so that claude
// does not get them.
func inheritedFiles() (protocol.Bootstrap, *os.File, *os.File, error) {
	for _, fd := range []int{protocol.FDBootstrap, protocol.FDListener, protocol.FDLock} {
		syscall.CloseOnExec(fd)
	}
	pipe := os.NewFile(protocol.FDBootstrap, "bootstrap")
	if pipe == nil {
		return protocol.Bootstrap{}, nil, nil, fmt.Errorf("read bootstrap: descriptor %d is not open", protocol.FDBootstrap)
	}
	defer func() { _ = pipe.Close() }()
	var b protocol.Bootstrap
	if err := json.NewDecoder(pipe).Decode(&b); err != nil {
		return protocol.Bootstrap{}, nil, nil, fmt.Errorf("read bootstrap (this command is started by the daemon only): %w", err)
	}
	if b.Version != protocol.Version {
		return protocol.Bootstrap{}, nil, nil, fmt.Errorf("read bootstrap: version %d, want %d", b.Version, protocol.Version)
	}
	return b, os.NewFile(protocol.FDListener, "listener"), os.NewFile(protocol.FDLock, "lock"), nil
}
