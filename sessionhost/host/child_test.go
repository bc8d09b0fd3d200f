package host

import (
	"strings"
	"testing"
)

func TestStderrTail(t *testing.T) {
	t.Parallel()
	var small, large tail
	for _, part := range []string{"one\n", "", "two\xff\n"} {
		if n, err := small.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("write: %d, %v", n, err)
		}
	}
	if got := small.String(); got != "one\ntwo\uFFFD\n" {
		t.Errorf("kept %q", got)
	}
	for i := range 100 {
		_, _ = large.Write([]byte(strings.Repeat(string(rune('a'+i%26)), 1+i*37)))
	}
	_, _ = large.Write([]byte(strings.Repeat("-", 10*tailBytes) + "end"))
	if got := large.String(); len(got) != tailBytes || !strings.HasSuffix(got, "-end") {
		t.Errorf("kept %d bytes that end with %q", len(got), got[max(0, len(got)-5):])
	}
	if cap(large.buf) > 16*tailBytes {
		t.Errorf("%d bytes are held for it", cap(large.buf))
	}
}
