package httpapi

import (
	"fmt"
	"testing"

	"bareclaw/core"
)

func TestDeliveries(t *testing.T) {
	t.Parallel()
	var d deliveries
	message := func(n int) *core.Message {
		return &core.Message{ID: core.MessageID(fmt.Sprint(n)), State: core.Answered}
	}
	d.note(&core.Message{ID: "waits", State: core.Waiting})
	d.note(message(0))
	first := d.at("0")
	d.note(message(0)) // asked for again
	if first.IsZero() || !d.at("0").Equal(first) || !d.at("waits").IsZero() {
		t.Errorf("first %v, again %v, of one that waits %v", first, d.at("0"), d.at("waits"))
	}
	for n := range maxDeliveries {
		d.note(message(n + 1))
	}
	if !d.at("0").IsZero() || d.at("1").IsZero() || d.at(message(maxDeliveries).ID).IsZero() {
		t.Error("not the newest ones are known")
	}
}
