package telegram

import (
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"testing"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/core"
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
		a := &Adapter{allowed: map[int64]bool{7: true}}
		a.chats.heard(-5)
		if got := a.hears(botapi.Peek(json.RawMessage(update))); got != heard {
			t.Errorf("%s: heard is %v", update, got)
		}
	}
	if g := botapi.Peek(json.RawMessage(`{"message":{"from":{"id":7}}}`)); g.Id != 0 {
		t.Errorf("an update without an id has %d", g.Id)
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
	for n := range 50 {
		d := min(firstPause<<min(n, 20), maxPause)
		if got := pollPause(botapi.ErrPollHung, n); got < d/2 || got >= d {
			t.Errorf("after %d failures %v is waited, want %v to %v", n+1, got, d/2, d)
		}
	}
	if got := pollPause(&botapi.Error{Status: 429, RetryAfter: 77 * time.Second}, 0); got != 77*time.Second {
		t.Errorf("asked to wait 77 s, and %v is waited", got)
	}
	if got := pollPause(core.ErrStorageFull, 9); got != tasks.StoragePause {
		t.Errorf("with a full disk %v is waited", got)
	}
}

// TestDecodeKeepsWhatIsPlain holds that something new in a message does not take the
// rest of it away.
func TestDecodeKeepsWhatIsPlain(t *testing.T) {
	t.Parallel()
	for _, broken := range []string{
		`"forward_origin":{"type":"from_mars"}`, `"paid_media":{"paid_media":[{"type":"hologram"}]}`, `"reply_to_message":{"forward_origin":{"type":"x"}}`,
		`"checklist":5`, `"dice":"x"`,
	} {
		u, err := botapi.DecodeUpdate(json.RawMessage(`{"update_id":9,"message":{"message_id":5,"chat":{"id":3},"from":{"id":7},"text":"hi",` + broken + `}}`))
		if err != nil || u.ID != 9 || u.Message == nil || u.Message.Text != "hi" || u.Message.ID != 5 || u.Message.Chat.ID != 3 {
			t.Errorf("%s: %+v, %v", broken, u.Message, err)
		}
	}
	for _, hopeless := range []string{`{`, `{"update_id":1,"message":5}`, `{"update_id":1,"callback_query":{"id":5}}`, `{"update_id":1,"message":{"text":5}}`} {
		if _, err := botapi.DecodeUpdate(json.RawMessage(hopeless)); err == nil {
			t.Errorf("%s is read", hopeless)
		}
	}
}
