package claude

import (
	"time"
	"unicode/utf8"
)

// targetBytes bounds ToolTarget, which is for display.
const targetBytes = 200

// ToolTarget returns the object of a tool call for display, if its input names one: a
// command, a path, an address. It has at most 200 bytes.
func ToolTarget(input []byte) string {
	keys := [...]string{"command", "file_path", "notebook_path", "path", "url", "query", "pattern", "skill", "description", "prompt"}
	best, rank := "", len(keys)
	_ = eachField(input, func(key, value []byte) { // no object, no target
		for i, k := range keys[:rank] {
			if string(key) == k && text(value) != "" {
				best, rank = text(value), i
			}
		}
	})
	if len(best) > targetBytes {
		cut := targetBytes
		for cut > 0 && !utf8.RuneStart(best[cut]) {
			cut--
		}
		best = best[:cut]
	}
	return best
}

// maxToolTimeout is more than claude lets a tool run.
const maxToolTimeout = 24 * time.Hour

// toolTimeout returns how long a tool call may run by its own input, 0 if unknown: the
// timeout of a Bash call in the foreground.
func toolTimeout(tool string, input []byte) time.Duration {
	if tool != "Bash" {
		return 0
	}
	var in struct {
		Timeout    float64 `json:"timeout"` // in milliseconds
		Background bool    `json:"run_in_background"`
	}
	if decode(input, &in); in.Background || in.Timeout <= 0 {
		return 0
	}
	return time.Duration(min(in.Timeout, float64(maxToolTimeout.Milliseconds()))) * time.Millisecond
}
