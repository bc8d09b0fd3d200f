package protocol

import (
	"bytes"
	"fmt"
	"os"
)

// ToolNoted reports whether the host has noted that the turn began a tool.
func ToolNoted(path, turn string) (bool, error) {
	b, err := os.ReadFile(path)
	if IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read tool notes: %w", err)
	}
	return bytes.Contains(b, []byte(turn+"\n")), nil
}
