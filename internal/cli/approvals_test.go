package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/term"
)

// TestApprovalsHideNothing holds that who decides sees every character of who asks, for what, and
// where.
func TestApprovalsHideNothing(t *testing.T) {
	t.Parallel()
	const hidden, shown = "a\u200bb\u2060\U000E0041\u202e", `a\u{200B}b\u{2060}\u{E0041}` + "\ufffd"
	a := api.Approval{ID: "01a200a0-30df", Channel: hidden, Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`), Prompt: api.Prompt{User: hidden, Text: hidden}}
	list := approvalTable([]api.Approval{a}, time.Now()).Lines(term.Palette{}, command.Unlimited)
	if want := "0a0-30df  " + shown + "        Bash: ls  " + shown; len(list) != 2 || list[1] != want {
		t.Errorf("the list is %q, want %q", list, want)
	}
	var out strings.Builder
	if err := printRequest(&command.Context{Context: t.Context(), Out: &out}, &a); err != nil {
		t.Fatal(err)
	}
	if want := "approval  01a200a0-30df\nchannel   " + shown + "\nfrom      " + shown + "\nprompt    " + shown + "\n\nAllow Bash?\n  ls\n"; out.String() != want {
		t.Errorf("the request is %q, want %q", out.String(), want)
	}
}
