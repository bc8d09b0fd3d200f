package shellquote

import (
	"os/exec"
	"testing"

	"bareclaw/internal/testkit/check"
)

func TestWord(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain/bin-1.0": "plain/bin-1.0",
		"tg-1%2":        "tg-1%2",
		"":              "''",
		"/a b":          "'/a b'",
		"/it's":         `'/it'\''s'`,
		"a$b`c`\\":      "'a$b`c`\\'",
		"$(x)":          "'$(x)'",
		"nl\nnl":        "'nl\nnl'",
		"~":             "'~'",
		"*":             "'*'",
	} {
		got := Word(in)
		if got != want {
			t.Errorf("Word(%q) = %s, want %s", in, got, want)
		}
		read, err := exec.Command("sh", "-c", "printf %s "+got).Output()
		check.OK(t, err)
		if string(read) != in {
			t.Errorf("sh reads %s as %q, want %q", got, read, in)
		}
	}
}
