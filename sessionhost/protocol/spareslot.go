package protocol

import (
	"strconv"
	"strings"
)

// sparePrefix begins the channel keys of spares. No adapter lets a control
// character into a key.
const sparePrefix = "\x00spare-"

// spareChannel is the channel of the spare in that slot. Slots count from 1.
func SpareChannel(slot int) string { return sparePrefix + strconv.Itoa(slot) }

// spareSlot is its inverse, and reports whether the channel is that of a spare.
func SpareSlot(channel string) (slot int, ok bool) {
	digits, ok := strings.CutPrefix(channel, sparePrefix)
	if !ok {
		return 0, false
	}
	slot, err := strconv.Atoi(digits)
	return slot, err == nil
}
