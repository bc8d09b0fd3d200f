package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestSays(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"ALL_OK", " ALL_OK\n", "**ALL_OK**", "`ALL_OK`", "```\nALL_OK\n```", "\"ALL_OK\"", "ALL_OK.", "_ALL_OK_"} {
		if !says(answer, "ALL_OK") {
			t.Errorf("%q is not taken for the word", answer)
		}
	}
	for _, answer := range []string{"", "OK", "all_ok", "ALL_OK, but the disk is full", "The disk is full. ALL_OK", "ALL_OK\nALL_OK", "not ALL_OK", "ALL_OK!"} {
		if says(answer, "ALL_OK") {
			t.Errorf("%q is taken for the word", answer)
		}
	}
}

// TestDigest tells the same words once, and of too much the newest.
func TestDigest(t *testing.T) {
	t.Parallel()
	group := func(texts ...string) (all []*Occurrence) {
		for i, text := range texts {
			at := time.Date(2030, 1, 31, 9+i, 0, 0, 0, time.Local)
			all = append(all, &Occurrence{Due: at, Answer: &Answer{Text: text}})
		}
		return all
	}
	const head = "Beat: these answers could not be sent before."
	long := strings.Repeat("x", maxDigest)
	for want, occurrences := range map[string][]*Occurrence{
		"a": group("a", "a"),
		head + "\n\nThu 31 Jan 10:00: b\n\nThu 31 Jan 11:00: a":                          group("a", "b", "a"),
		fmt.Sprintf("%s 2 older ones are left out.\n\nThu 31 Jan 11:00: %s", head, long): group("a", "b", long),
	} {
		if got := digest("Beat", occurrences); got != want {
			t.Errorf("got %.120q, want %.120q", got, want)
		}
	}
}
