package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/core"
	fakeapi "bareclaw/internal/testkit/botapi"
)

// TestWhoIsHeard holds whose updates are recorded. Nobody can pretend to be a user.
func TestWhoIsHeard(t *testing.T) {
	t.Parallel()
	for update, heard := range map[string]bool{
		`{"update_id":1,"message":{"from":{"id":7},"chat":{"id":7}}}`:                                                    true,
		`{"update_id":1,"edited_message":{"from":{"id":7},"chat":{"id":7}}}`:                                             true,
		`{"update_id":1,"callback_query":{"from":{"id":7},"message":{"from":{"id":1},"chat":{"id":9}}}}`:                 true,
		`{"update_id":1,"my_chat_member":{"from":{"id":7},"chat":{"id":-5}}}`:                                            true,
		`{"update_id":1,"stopped_message_generation":{"chat":{"id":7},"draft_id":1}}`:                                    true,
		`{"update_id":1,"message":{"from":{"id":8},"chat":{"id":7}}}`:                                                    false,
		`{"update_id":1,"message":{"from":{"id":7},"sender_chat":{"id":-5},"chat":{"id":-5}}}`:                           false,
		`{"update_id":1,"message":{"chat":{"id":-5},"text":"post"}}`:                                                     false,
		`{"update_id":1,"callback_query":{"from":{"id":8},"message":{"from":{"id":7},"chat":{"id":7}}}}`:                 false,
		`{"update_id":1,"stopped_message_generation":{"chat":{"id":8},"from":{"id":7},"draft_id":1}}`:                    false,
		`{"update_id":1,"message":{"from":{"id":8},"chat":{"id":-5},"migrate_to_chat_id":-6}}`:                           true,
		`{"update_id":1,"message":{"from":{"id":8},"sender_chat":{"id":-6},"chat":{"id":-6},"migrate_from_chat_id":-5}}`: true,
		`{"update_id":1,"message":{"from":{"id":8},"chat":{"id":-5},"forum_topic_edited":{"name":"x"}}}`:                 true,
		`{"update_id":1,"message":{"from":{"id":8},"chat":{"id":-77},"migrate_to_chat_id":-5}}`:                          false,
		`{"update_id":1,"message":{"from":{"id":8},"chat":{"id":-77},"forum_topic_created":{"name":"x"}}}`:               false,
		`{"update_id":1,"poll":{"id":"5"}}`:                                                                              false,
	} {
		a := &poller{chats: newChatBook(nil, []int64{7}, nil)}
		a.chats.heard(-5)
		u, err := botapi.DecodeUpdate(json.RawMessage(update))
		if got := a.hears(&u); got != heard || err != nil {
			t.Errorf("%s: heard is %v, %v", update, got, err)
		}
	}
}

// TestProblemsHaveTheSameWords holds that what differs from one try to the next does
// not make a problem a new one.
func TestProblemsHaveTheSameWords(t *testing.T) {
	t.Parallel()
	refused := func(port int) error {
		return &url.Error{Op: "Post", URL: "http://x/botTOKEN/getUpdates", Err: &net.OpError{
			Op: "read", Net: "tcp", Source: &net.TCPAddr{Port: port}, Err: errors.New("connection reset by peer"),
		}}
	}
	want := "Telegram cannot be reached: read: connection reset by peer"
	for _, port := range []int{1, 2} {
		if got := pollProblem(refused(port)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	h := &health{}
	if !h.failed("a") || h.failed("a") || !h.failed("b") || h.polled(time.Now()) != "b" || !h.failed("b") {
		t.Error("what is news is not told from what is known")
	}
}

func TestPollPauses(t *testing.T) {
	t.Parallel()
	pauses := throttle.NewBackoff(maxPause)
	for n := range 50 {
		d := min(time.Second<<min(n, 20), maxPause)
		if got := pollPause(botapi.ErrPollHung, pauses.Next()); got < d*3/4 || got > d {
			t.Errorf("after %d failures %v is waited, want %v to %v", n+1, got, d*3/4, d)
		}
	}
	if got := pollPause(&botapi.Error{Status: 429, RetryAfter: 77 * time.Second}, time.Second); got != 77*time.Second {
		t.Errorf("asked to wait 77 s, and %v is waited", got)
	}
	if got := pollPause(core.ErrStorageFull, time.Second); got != records.StoragePause {
		t.Errorf("with a full disk %v is waited", got)
	}
}

// TestUnreadableUpdates holds that an update that cannot be read keeps nothing from
// coming after it, and that what cannot be acknowledged is not asked for again at once.
func TestUnreadableUpdates(t *testing.T) {
	t.Parallel()
	a := recording(t)
	good := json.RawMessage(`{"update_id":12,"message":{"message_id":1,"from":{"id":7},"chat":{"id":7},"text":"hi"}}`)
	for _, broken := range []string{`{"update_id":12,"message":{"from":{"id":"7"},"chat":{"id":7}}}`, `{"update_id":12,"message":5}`,
		`{"update_id":12,"message":{"from":{"id":7},"sender_chat":[],"chat":{"id":7}}}`} {
		next, err := a.poller.receive(t.Context(), []json.RawMessage{json.RawMessage(broken)}, 5)
		if next != 13 || err != nil {
			t.Errorf("after %s comes %d, %v", broken, next, err)
		}
	}
	for _, nameless := range []string{`5`, `null`, `{"message":{}}`, `{"update_id":"12"}`} {
		next, err := a.poller.receive(t.Context(), []json.RawMessage{json.RawMessage(nameless)}, 5)
		if next != 5 || !errors.Is(err, errNoIDs) {
			t.Errorf("after %s comes %d, %v", nameless, next, err)
		}
		if next, err = a.poller.receive(t.Context(), []json.RawMessage{json.RawMessage(nameless), good}, 5); next != 13 || err != nil {
			t.Errorf("after %s and a good one comes %d, %v", nameless, next, err)
		}
	}
	if in, err := a.o.Core.Inbox.LastInbound(context.WithoutCancel(t.Context()), Name); err != nil || in.ID != sourceKey(a.env.Bot, 12) {
		t.Errorf("recorded: %+v, %v", in, err)
	}
}

// TestTelegramCountsAnew holds that what comes under a smaller number than before is
// received, and acknowledged: https://core.telegram.org/bots/api#update
func TestTelegramCountsAnew(t *testing.T) {
	t.Parallel()
	a := recording(t)
	for _, id := range []int64{9000, 17} {
		update := fmt.Sprintf(`{"update_id":%d,"message":{"message_id":1,"from":{"id":8},"chat":{"id":8},"text":"hi"}}`, id)
		if next, err := a.poller.receive(t.Context(), []json.RawMessage{json.RawMessage(update)}, 9000); next != id+1 || err != nil {
			t.Errorf("after %d comes %d, %v", id, next, err)
		}
	}
}

// TestPollThatHangsIsReplaced holds that a poll which is never answered, on a
// connection that looks alive, is given up, and that the next one has another.
func TestPollThatHangsIsReplaced(t *testing.T) {
	t.Parallel()
	api := fakeapi.New(t)
	a := newAdapter(t, on(api))
	a.poller.introduced, a.poller.client.Grace = true, 50*time.Millisecond
	held := api.Hold("getUpdates", 0)
	defer held.Release()
	for !held.Reached() { // on a busy machine a poll may be given up before it gets there
		_, err := a.poller.pollOnce(t.Context(), 0, 0)
		late := err == nil && held.Reached() // the one before got there after it was given up
		if !errors.Is(err, botapi.ErrPollHung) && !late {
			t.Fatalf("a poll that hangs ended with %v", err)
		}
	}
	a.poller.client.Grace = fakeapi.Patience
	if _, err := a.poller.pollOnce(t.Context(), 0, 0); err != nil {
		t.Errorf("the next one: %v", err)
	}
	if h := a.Health(); !h.Ready {
		t.Errorf("health is %+v", h)
	}
}
