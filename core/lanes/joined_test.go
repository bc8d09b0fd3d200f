package lanes

import (
	"testing"

	"bareclaw/core"
	"bareclaw/internal/wait"
)

// Who learns that another message was answered with the text finds it there at once.
func TestCarrierIsThereFirst(t *testing.T) {
	t.Parallel()
	for range 2000 {
		d := &ticketIndex{open: map[core.MessageID]*core.Ticket{}}
		carried, carrier := core.Message{ID: "1"}, core.Message{ID: "2"}
		carried.Reply.Into = carrier.ID
		d.add(core.NewTicket(carried))
		d.add(core.NewTicket(carrier))
		first, _ := d.find(carried.ID)
		second, _ := d.find(carrier.ID)
		there := make(chan bool)
		go func() {
			<-first.Done()
			there <- wait.IsClosed(second.Done())
		}()
		d.resolve([]*core.Message{&carried, &carrier})
		if !<-there {
			t.Fatal("the text is not there yet")
		}
	}
}
