package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/core/lanes"
	fakeapi "bareclaw/internal/testkit/botapi"
)

// A blindLedger cannot be read for a while.
type blindLedger struct {
	core.Ledger
	fails atomic.Int64 // so many reads of deliveries
}

func (l *blindLedger) Delivery(ctx context.Context, id string) (core.Delivery, error) {
	if l.fails.Add(-1) >= 0 {
		return core.Delivery{}, errors.New("it cannot be read now")
	}
	return l.Ledger.Delivery(ctx, id)
}

// TestDeliveryThatCannotBeRead: what is on record is delivered by the process that has
// recorded it, also if it could not be read at first.
func TestDeliveryThatCannotBeRead(t *testing.T) {
	t.Parallel()
	var blind *blindLedger
	a, _, _, chat := serve(t, func(c *lanes.Options, _ *Options) {
		blind = &blindLedger{Ledger: c.Ledger}
		c.Ledger = blind
	})
	blind.fails.Store(2) // that of who records it, and the first one of the courier
	a.out.Say(t.Context(), "note:1", "tg-7", view.Note{Text: "first"})
	a.out.Say(t.Context(), "note:2", "tg-7", view.Note{Text: "second"})
	chat.AwaitText("second")
	if got := chat.FromBot(); len(got) != 2 || got[0].Text != "first" {
		t.Errorf("got %v", got)
	}
}

// A busyLedger has something happen while the pending deliveries are read, once.
type busyLedger struct {
	core.Ledger
	meanwhile func()
}

func (l *busyLedger) PendingDeliveries(ctx context.Context, adapter string) ([]core.Delivery, error) {
	ds, err := l.Ledger.PendingDeliveries(ctx, adapter)
	l.meanwhile()
	return ds, err
}

// TestOrderAtStart: what was pending at a start comes first, and then what is recorded meanwhile.
func TestOrderAtStart(t *testing.T) {
	t.Parallel()
	busy := &busyLedger{}
	a, _, _, chat := ready(t, func(c *lanes.Options, _ *Options) {
		busy.Ledger = c.Ledger
		c.Ledger = busy
	})
	say := func(text string) { a.out.Say(t.Context(), "note:"+text, "tg-7", view.Note{Text: text}) }
	say("1")
	say("2")
	busy.meanwhile = func() { say("3"); say("1") }
	defer run(t, a)()
	chat.AwaitText("3")
	var got []string
	for _, m := range chat.FromBot() {
		got = append(got, m.Text)
	}
	if !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("got %q", got)
	}
}

// TestDeliveryOfNothing: what is not there is not waited for.
func TestDeliveryOfNothing(t *testing.T) {
	t.Parallel()
	a, _, _, chat := serve(t)
	d := &core.Delivery{ID: "reply:gone", Kind: core.DeliverReply, Adapter: Name, Channel: "tg-7", Message: "gone"}
	if err := a.env.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	a.out.Say(t.Context(), "note:1", "tg-7", view.Note{Text: "after"})
	chat.AwaitText("after")
	if now, err := a.env.Delivery(t.Context(), d.ID); err != nil || now.State != core.DeliveryFailed {
		t.Errorf("it is %+v, %v", now, err)
	}
}

// TestDeliveryInOtherParts: what an earlier process has begun in more parts is sent anew, and
// ends with the file that has all of it. An earlier version has not noted how many parts there
// were: then the file alone comes.
func TestDeliveryInOtherParts(t *testing.T) {
	t.Parallel()
	for progress, messages := range map[string]int{`{"sent":[1,2,3]}`: 1, `{"sent":[1],"parts":7}`: 2, `{"sent":[1],"parts":2}`: 1} {
		t.Run(progress, func(t *testing.T) {
			t.Parallel()
			a, _, _, chat := ready(t, func(_ *lanes.Options, o *Options) { o.FileOver = 2 })
			body, err := json.Marshal(core.BackgroundBody{Text: strings.Repeat("word ", 5000)})
			if err != nil {
				t.Fatal(err)
			}
			d := &core.Delivery{ID: "background:1", Kind: core.DeliverBackground, Adapter: Name, Channel: "tg-7", Body: body}
			if err := a.env.Deliver(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			begun := *d
			begun.Progress = json.RawMessage(progress)
			if err := a.env.Delivered(t.Context(), begun); err != nil {
				t.Fatal(err)
			}
			defer run(t, a)()
			file := chat.AwaitMessage("the file", func(m fakeapi.Message) bool { return m.Media != nil })
			if now, err := a.out.Wait(t.Context(), d.ID); err != nil || now.State != core.DeliverySent {
				t.Errorf("it is %+v, %v", now, err)
			}
			if sent := chat.FromBot(); len(sent) != messages || sent[messages-1].ID != file.ID {
				t.Errorf("%d messages were sent, want %d, and last the file", len(sent), messages)
			}
		})
	}
}

// TestTapThatIsCutShort is left to the next process.
func TestTapThatIsCutShort(t *testing.T) {
	t.Parallel()
	a := recording(t)
	raw := json.RawMessage(`{"update_id":1,"callback_query":{"id":"1","from":{"id":7},"data":"ok:x","message":{"message_id":5,"date":1,"chat":{"id":7}}}}`)
	in := &core.Inbound{ID: sourceKey(1, 1), Adapter: Name, Body: raw}
	if err := a.env.Receive(t.Context(), []*core.Inbound{in}); err != nil {
		t.Fatal(err)
	}
	u, err := botapi.DecodeUpdate(raw)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.intake.handleAside(ctx, &arrival{Inbound: in, update: u})
	if left, err := a.env.Unhandled(t.Context(), Name); err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestOffsetThatIsOld: after a long silence the next update may have any id, also one
// below that of the last one.
func TestOffsetThatIsOld(t *testing.T) {
	t.Parallel()
	a, api, anna, chat := ready(t)
	a.poller.timeout, a.poller.stale = time.Millisecond, 100*time.Millisecond
	defer run(t, a)()
	chat.Send(anna, "/help")
	api.Await(t, "a poll from the beginning", func() bool {
		calls := api.Calls("getUpdates")
		known := false
		for _, c := range calls {
			known = known || c.Params["offset"] != ""
			if known && c.Params["offset"] == "" {
				return true
			}
		}
		return false
	})
	chat.Send(anna, "/verbose")
	chat.AwaitText("Shown here")
	if got := chat.FromBot(); len(got) != 2 {
		t.Errorf("got %v", got)
	}
}
