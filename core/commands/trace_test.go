package commands

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"bareclaw/core"
)

// TestTraceIsInOrder: what has happened is told in the order of time, whoever has recorded it.
func TestTraceIsInOrder(t *testing.T) {
	t.Parallel()
	at := func(second int) time.Time {
		return time.Date(2030, 1, 1, 13, 2, second, 0, time.Local)
	}
	message := core.Message{
		State:      core.Answered,
		ReceivedAt: at(1),
		EndedAt:    at(29),
	}
	turn := &core.Turn{
		BegunAt: at(2),
		Marks: []core.Mark{
			{What: "handed", At: at(2)},
			{What: "first_event", At: at(20)},
		},
	}
	approval := core.Approval{
		Tool:      "Bash",
		State:     core.ApprovalAllowed,
		DecidedAt: at(15),
	}
	question := core.Delivery{
		Kind:    core.DeliverApproval,
		State:   core.DeliverySent,
		EndedAt: at(13),
	}
	reply := core.Delivery{
		Kind:  core.DeliverReply,
		State: core.DeliveryPending,
	}
	trace := timeline(core.Trace{
		Message:    message,
		Turn:       turn,
		Approvals:  []core.Approval{approval},
		Deliveries: []core.Delivery{question, reply},
	})
	times := regexp.MustCompile(`13:02:\d\d`).FindAllString(trace, -1)
	if want := []string{"13:02:01", "13:02:02", "13:02:13", "13:02:15", "13:02:20", "13:02:29"}; !slices.Equal(times, want) {
		t.Errorf("the times are %v, want %v:\n%s", times, want, trace)
	}
	if !regexp.MustCompile(`reply is being delivered\.\n$`).MatchString(trace) {
		t.Errorf("the delivery that is still to come is not last:\n%s", trace)
	}
}
