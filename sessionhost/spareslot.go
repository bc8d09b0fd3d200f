package sessionhost

import (
	"strconv"
	"strings"

	"bareclaw/core"
)

// sparePrefix begins the channel keys of spares. No adapter lets a control
// character into a key.
const sparePrefix = "\x00spare-"

// spareKey is the channel of the spare in that slot. Slots count from 1.
func spareKey(slot int) core.ChannelKey { return core.ChannelKey(sparePrefix + strconv.Itoa(slot)) }

// spareSlot is its inverse, and reports whether the channel is that of a spare.
func spareSlot(channel string) (slot int, ok bool) {
	digits, ok := strings.CutPrefix(channel, sparePrefix)
	if !ok {
		return 0, false
	}
	slot, err := strconv.Atoi(digits)
	return slot, err == nil
}
