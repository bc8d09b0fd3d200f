package protocol

import (
	"strconv"
	"strings"
)

// sparePrefix begins the channel keys of spares. No adapter lets a control
// character into a key.
const sparePrefix = "\x00spare-"

// SpareChannel returns the channel key of the spare in a slot. Slots count from 1.
func SpareChannel(slot int) string { return sparePrefix + strconv.Itoa(slot) }

// SpareSlot returns the slot of a spare by its channel key; false for the key of a real
// channel.
func SpareSlot(channel string) (slot int, ok bool) {
	digits, ok := strings.CutPrefix(channel, sparePrefix)
	if !ok {
		return 0, false
	}
	slot, err := strconv.Atoi(digits)
	return slot, err == nil
}
