package protocol

import "testing"

func TestSpareKeys(t *testing.T) {
	t.Parallel()
	if slot, ok := SpareSlot(SpareChannel(64)); slot != 64 || !ok {
		t.Errorf("slot %d, %v", slot, ok)
	}
	for _, key := range []string{"", "spare-1", "http", "\x00spare-", "\x00spare-x", "\x00spare"} {
		if slot, ok := SpareSlot(key); ok {
			t.Errorf("%q is the spare in slot %d", key, slot)
		}
	}
}
