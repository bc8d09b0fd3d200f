package command

import (
	"encoding/json"
	"testing"

	"bareclaw/internal/term"
	"bareclaw/internal/testkit/check"
)

func TestJSONCommandsNoTerminal(t *testing.T) {
	t.Parallel()
	text := "\x1b[31m \u009b \u202e \x7f ü \n"
	raw, err := json.Marshal(text)
	check.OK(t, err)
	shown := escaped(raw)
	var back string
	if err := json.Unmarshal([]byte(shown), &back); err != nil || back != text {
		t.Errorf("%s is %q, %v", shown, back, err)
	}
	if term.Safe(shown) != shown {
		t.Errorf("%q commands the terminal", shown)
	}
}
