package media

import (
	"strings"
	"testing"
)

func TestSafeNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a.txt": "a.txt", "../../etc/passwd": "passwd", "..": "file", ".": "file", "/": "_", `C:\x\y.doc`: "y.doc", ".bashrc": "file.bashrc",
		"a b\x00c.pdf": "a_b_c.pdf", "größe 5.png": "größe_5.png", "-rf": "-rf", "a.": "a.", strings.Repeat("é", 200) + ".jpeg": strings.Repeat("é", 57) + ".jpeg",
	} {
		if got := safeName(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}
