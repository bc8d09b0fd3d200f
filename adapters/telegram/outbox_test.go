package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/outbox"
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
	if err := a.o.Core.Deliveries.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	a.out.Say(t.Context(), "note:1", "tg-7", view.Note{Text: "after"})
	chat.AwaitText("after")
	if now, err := a.o.Core.Deliveries.Delivery(t.Context(), d.ID); err != nil || now.State != core.DeliveryFailed {
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
			if err := a.o.Core.Deliveries.Deliver(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			begun := *d
			begun.Progress = json.RawMessage(progress)
			if err := a.o.Core.Deliveries.Delivered(t.Context(), begun); err != nil {
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
	if err := a.o.Core.Inbox.Receive(t.Context(), []*core.Inbound{in}); err != nil {
		t.Fatal(err)
	}
	u, err := botapi.DecodeUpdate(raw)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.intake.handleAside(ctx, &arrival{Inbound: in, update: u})
	if left, err := a.o.Core.Inbox.Unhandled(t.Context(), Name); err != nil || len(left) != 1 {
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

// refusals are 400s that nobody has foreseen.
var refusals = []string{
	"message is too long", "TEXT_EMPTY", "inline keyboard button URL is invalid", "WEBPAGE_CURL_FAILED", "URL host is empty", "SOMETHING_NEW",
}

// TestRefusedMessage: a message that Telegram refuses is sent in another way, each time a simpler
// one, and last a note says that it could not be shown.
func TestRefusedMessage(t *testing.T) {
	t.Parallel()
	for _, why := range refusals {
		for refused, want := range map[int]string{1: "bold word", 2: "message.txt", 3: "refused it (Bad Request: " + why + ")"} {
			t.Run(fmt.Sprintf("%s %d", why, refused), func(t *testing.T) {
				t.Parallel()
				a, api, _, chat := serve(t)
				a.out.Say(t.Context(), "note:0", "tg-7", view.Note{Text: "before"})
				before := chat.AwaitText("before")
				refuse := slices.Repeat([]fakeapi.Step{fakeapi.Refuse(400, "Bad Request: "+why)}, refused)
				api.Script("sendMessage", 7, refuse[:min(refused, 2)]...)
				if refused > 2 {
					api.Script("sendDocument", 7, refuse[2:]...)
				}
				a.out.Say(t.Context(), "note:1", "tg-7", view.Note{Text: "**bold** word", ReplyTo: before.ID})
				a.out.Say(t.Context(), "note:2", "tg-7", view.Note{Text: "after"})
				chat.AwaitText("after")
				got := chat.FromBot()[1:]
				if len(got) != 2 {
					t.Fatalf("the chat has %v", got)
				}
				text := got[0].Text
				if got[0].Media != nil {
					text = got[0].Media.Name
					if string(got[0].Media.Data) != "bold word" {
						t.Errorf("the file has %q", got[0].Media.Data)
					}
				}
				if !strings.Contains(text, want) || len(got[0].Entities) > 0 || got[0].ReplyTo != 0 {
					t.Errorf("got %+v, want %q", got[0], want)
				}
				if d, err := a.o.Core.Deliveries.Delivery(t.Context(), "note:1"); err != nil || d.State != core.DeliverySent || d.Attempts != refused || d.Error != "" {
					t.Errorf("it is recorded as %+v, %v", d, err)
				}
			})
		}
	}
}

// TestRefusedRequest: a request keeps its buttons as long as Telegram takes them, and an edit that
// is refused is made without formats, or comes as a new message.
func TestRefusedRequest(t *testing.T) {
	t.Parallel()
	refuse := fakeapi.Refuse(400, "Bad Request: SOMETHING_NEW")
	a, api, _, chat := serve(t)
	buttons := [][]view.Button{{{Text: "Go", Data: "x:1"}}}
	api.Script("sendMessage", 7, refuse)
	a.out.Say(t.Context(), "note:1", "tg-7", view.Note{Text: "**go?**", Buttons: buttons})
	m := chat.AwaitText("go?")
	if _, ok := m.Button("Go"); !ok || len(m.Entities) > 0 {
		t.Errorf("it is asked as %+v", m)
	}
	api.Script("editMessageText", 7, refuse)
	a.out.Edit(t.Context(), "edit:1", "tg-7", outbox.Edit{Message: m.ID, Note: view.Note{Text: "**gone**"}})
	api.Await(t, "the edit", func() bool { now, _ := chat.Message(m.ID); return now.Text == "gone" && len(now.Entities) == 0 })
	api.Script("editMessageText", 7, refuse, refuse)
	a.out.Edit(t.Context(), "edit:2", "tg-7", outbox.Edit{Message: m.ID, Note: view.Note{Text: "anew"}})
	if chat.AwaitText("anew").ID == m.ID {
		t.Error("it was edited")
	}
}

// TestRefusedAcrossACrash: a process that is killed between two ways leaves the delivery to the
// next one, which sends the message once.
func TestRefusedAcrossACrash(t *testing.T) {
	t.Parallel()
	a, api, _, chat := ready(t)
	refuse := fakeapi.Refuse(400, "Bad Request: SOMETHING_NEW")
	api.Script("sendMessage", 7, refuse, refuse, refuse, refuse)
	held := api.Hold("sendDocument", 7)
	stop := run(t, a)
	a.out.Say(t.Context(), "note:1", "tg-7", view.Note{Text: "once"})
	api.Await(t, "the third way", held.Reached)
	stop() // the call that hangs is cut, as by a kill
	defer held.Release()
	b, err := New(a.o)
	if err != nil {
		t.Fatal(err)
	}
	defer run(t, b)()
	b.out.Say(t.Context(), "note:2", "tg-7", view.Note{Text: "after"})
	chat.AwaitText("after")
	n := 0
	for _, m := range chat.FromBot() {
		if m.Media != nil && string(m.Media.Data) == "once" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the chat has %v", chat.FromBot())
	}
}
