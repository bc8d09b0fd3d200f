package heartbeat

import (
	"fmt"
	"slices"
	"strings"
)

// maxOwed is how much of what could not be told is told at once, in bytes: the newest of
// it. All of it is on the heartbeat's channel.
const maxOwed = 8 << 10

// owedText is what the user is told of ticks, which come oldest first: that of one as it
// is, that of several with when each was found. What was found again in the same words is
// told once.
func owedText(owed []*Tick) string {
	var kept []*Tick
	size, known := 0, map[string]bool{}
	for _, o := range slices.Backward(owed) {
		if known[o.Push] {
			continue
		}
		known[o.Push] = true
		if size += len(o.Push); len(kept) == 0 || size <= maxOwed {
			kept = append(kept, o)
		}
	}
	if len(known) == 1 {
		return kept[0].Push
	}
	var text strings.Builder
	text.WriteString("Heartbeat: what follows could not be told when it was found.")
	if left := len(known) - len(kept); left > 0 {
		fmt.Fprintf(&text, " Of %d more only the channel %s knows.", left, Channel)
	}
	for _, o := range slices.Backward(kept) {
		fmt.Fprintf(&text, "\n\n%s: %s", o.At.Local().Format("Mon 2 Jan 15:04"), o.Push)
	}
	return text.String()
}
