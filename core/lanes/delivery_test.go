package lanes

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// delivered asks for the outcome to be delivered by an adapter.
func delivered(adapter string) func(*core.Submission) {
	return func(s *core.Submission) { s.Adapter, s.Deliver = adapter, true }
}

func ids(ds []core.Delivery) []string {
	var out []string
	for _, d := range ds {
		out = append(out, d.ID)
	}
	return out
}

// consume has take get the deliveries of the adapter chat.
func (w *world) consume(take func(core.Delivery)) {
	w.t.Helper()
	if err := w.m.Adapters.Consume(w.t.Context(), "chat", take); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) pendingFor(adapter string) []string {
	w.t.Helper()
	ds, err := w.m.Adapters.PendingDeliveries(w.t.Context(), adapter)
	if err != nil {
		w.t.Fatal(err)
	}
	return ids(ds)
}

// An outcome and its delivery become durable together, and the adapter hears of it
// then, once.
func TestOutcomeIsDelivered(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		var told []core.Delivery
		w.consume(func(d core.Delivery) { told = append(told, d) })
		m := w.submit("hello", delivered("chat"))
		h, id := w.running()
		w.ledger.hold()
		h.answer(id, "hi")
		synctest.Wait()
		if len(told) > 0 {
			t.Errorf("told before it was durable: %+v", told)
		}
		w.ledger.release()
		w.wants(m, core.Answered, "", "hi")
		synctest.Wait()
		want := core.ReplyDelivery(m.Message.ID)
		if got := ids(told); !slices.Equal(got, []string{want}) || told[0].Message != m.Message.ID || told[0].Kind != core.DeliverReply {
			t.Errorf("told %+v, want %s", told, want)
		}
		w.crash()
		w.start()
		if got := w.pendingFor("chat"); !slices.Equal(got, []string{want}) {
			t.Errorf("after a crash %v is pending, want %s", got, want)
		}
		d := told[0]
		d.State, d.Progress = core.DeliverySent, json.RawMessage(`{"sent":[1]}`)
		if err := w.m.Adapters.Delivered(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if got := w.pendingFor("chat"); len(got) > 0 {
			t.Errorf("%v is pending after it was sent", got)
		}
		trace, err := w.m.Lookup.Trace(t.Context(), m.Message.ID)
		if err != nil || len(trace.Deliveries) != 1 || trace.Deliveries[0].State != core.DeliverySent || trace.Deliveries[0].EndedAt.IsZero() {
			t.Errorf("trace has %+v, %v", trace.Deliveries, err)
		}
	})
}

// What an adapter puts on record for itself is there in the next life, once.
func TestAdaptersRecords(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		ctx := t.Context()
		in := func(id string) *core.Inbound {
			return &core.Inbound{ID: id, Adapter: "chat", Body: json.RawMessage(id)}
		}
		ok := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		ok(w.m.Adapters.Receive(ctx, []*core.Inbound{in("1"), in("2")}))
		ok(w.m.Adapters.Handled(ctx, "1"))
		ok(w.m.Adapters.Receive(ctx, []*core.Inbound{in("1"), in("3")}))
		ok(w.m.Adapters.Deliver(ctx, &core.Delivery{ID: "note", Adapter: "chat", Channel: "c"}))
		ok(w.m.Adapters.Deliver(ctx, &core.Delivery{ID: "note", Adapter: "chat", Channel: "elsewhere"}))
		ok(w.m.Adapters.PutRecords(ctx, &core.Record{Owner: "chat", Key: "a:1", Doc: json.RawMessage("1")}, &core.Record{Owner: "chat", Key: "b:1", Doc: json.RawMessage("2")}))
		w.crash()
		w.start()
		left, err := w.m.Adapters.Unhandled(ctx, "chat")
		if err != nil || len(left) != 2 || left[0].ID != "2" || left[1].ID != "3" {
			t.Errorf("not handled: %+v, %v", left, err)
		}
		last, err := w.m.Adapters.LastInbound(ctx, "chat")
		if err != nil || last.ID != "3" {
			t.Errorf("last came %+v, %v", last, err)
		}
		d, err := w.m.Adapters.Delivery(ctx, "note")
		if err != nil || d.Channel != "c" || d.State != core.DeliveryPending {
			t.Errorf("delivery is %+v, %v", d, err)
		}
		w.after(time.Hour)
		ok(w.m.Adapters.ForgetRecords(ctx, core.RecordRange{Owner: "chat", Prefix: "a:", Before: w.m.o.Now()}))
		rs, err := w.m.Adapters.Records(ctx, "chat", "")
		if err != nil || len(rs) != 1 || rs[0].Key != "b:1" || string(rs[0].Doc) != "2" {
			t.Errorf("records are %+v, %v", rs, err)
		}
	})
}

// A delivery that was made is not handed over again when it is asked for once more.
func TestDeliverOnce(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		var got []string
		w.consume(func(d core.Delivery) { got = append(got, d.ID) })
		d := core.Delivery{ID: "note", Kind: "note", Adapter: "chat", Channel: "c"}
		deliver := func() {
			again := d
			if err := w.m.Adapters.Deliver(t.Context(), &again); err != nil {
				t.Fatal(err)
			}
		}
		deliver()
		deliver() // it is pending: perhaps nobody was there
		d.State = core.DeliverySent
		if err := w.m.Adapters.Delivered(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		deliver()
		if len(got) != 2 {
			t.Errorf("handed over %d times, want 2", len(got))
		}
	})
}

// A panic of an adapter at one delivery costs neither the next one nor the daemon; the
// delivery stays pending.
func TestPanicAtDelivery(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		var got []string
		w.consume(func(d core.Delivery) {
			if d.ID == "bad" {
				panic("a fault in the adapter")
			}
			got = append(got, d.ID)
		})
		bad := core.Delivery{ID: "bad", Kind: "note", Adapter: "chat", Channel: "c", State: core.DeliveryPending}
		good := bad
		good.ID = "good"
		if err := core.WriteAndWait(t.Context(), w.m.o.Ledger, core.Change{Deliver: []*core.Delivery{&bad, &good}}, nil); err != nil {
			t.Fatal(err)
		}
		if left := w.pendingFor("chat"); !slices.Equal(got, []string{"good"}) || !slices.Equal(left, []string{"bad", "good"}) {
			t.Errorf("told %v, pending are %v", got, left)
		}
		if log := w.log.String(); !strings.Contains(log, "a fault in the adapter") || !strings.Contains(log, "delivery_test.go") {
			t.Errorf("the log has %s", log)
		}
		m := w.submit("hello", delivered("chat"))
		h, id := w.running()
		h.answer(id, "hi")
		w.wants(m, core.Answered, "", "hi")
	})
}

// A message whose reply another one carries is delivered by itself unless that one is delivered to the same place.
func TestCoalescedDelivery(t *testing.T) {
	scenarios(t, map[string]string{
		"carried": `
			send zero; begin zero; send one {deliver by=chat|deliver by=chat|by=x|deliver by=chat|by=x}
			send two {deliver by=chat|by=x|deliver by=chat|deliver by=mail|by=x}
			answer zero 0; answer two both; wait 1s; deliver chat {reply:two|reply:one|reply:two|reply:one|}
			deliver mail {|||reply:two|}`,
		"background results": `
			with deliver={c:chat|:chat|other-:chat}; send one; answer one ok; background failed error=x; wait 1s
			delivered chat {1|1|0} "failed" is_error`,
	})
}
