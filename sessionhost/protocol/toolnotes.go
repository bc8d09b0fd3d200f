package protocol

import (
	"bytes"
	"fmt"
	"os"
)

// toolNoted reports whether the turn is in the notes.
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
