package shortid

import (
	"strings"
	"testing"
)

// TestAnIDIsFoundByEitherEnd: what a list shows of an id, its beginning and the whole id find it.
func TestAnIDIsFoundByEitherEnd(t *testing.T) {
	t.Parallel()
	ids := []string{"01961234-aaaa-7000-8000-00000000abcd", "01961234-aaaa-7000-8000-11111111abce", "abcd", "01961234-aaaa-7000-8000-2222abcdabcd"}
	itself := func(id *string) string { return *id }
	for text, want := range map[string]string{
		Of(ids[1]): ids[1], ids[0]: ids[0], "1111abce": ids[1], "abcd": "abcd",
		"0196": "3 messages have", "": "no message with", "0000": "no message with",
	} {
		got, err := Find(ids, itself, "message", text)
		if err == nil && *got != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Find(%q): %v, %v; want %s", text, got, err, want)
		}
	}
	if Of("short") != "short" || Of(ids[0]) != "0000abcd" {
		t.Errorf("shown are %q and %q", Of("short"), Of(ids[0]))
	}
}
