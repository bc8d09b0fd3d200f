package botapi_test

import (
	"testing"
	"time"

	"bareclaw/internal/testkit/botapi"
)

// burst sends until it is refused and returns how many were accepted and after
// how many seconds it may go on.
func burst(t *testing.T, s *botapi.Server, method string, body fields) (accepted, retryAfter int) {
	t.Helper()
	for ; accepted < 200; accepted++ {
		r := call(t, s, method, body)
		if r.Code == 429 {
			return accepted, r.Parameters.RetryAfter
		}
		if !r.OK {
			t.Fatalf("%s: %s", method, r.Description)
		}
	}
	return accepted, 0
}

func ratedWorld(t *testing.T) (*botapi.Server, *botapi.Clock, *botapi.User) {
	t.Helper()
	clock := botapi.NewClock(time.Unix(1_800_000_000, 0))
	s := botapi.New(t, botapi.WithClock(clock.Now))
	return s, clock, s.User(7, "Anna", "", "")
}

func TestRateOfAChat(t *testing.T) {
	t.Parallel()
	s, clock, anna := ratedWorld(t)
	body := fields{"chat_id": s.Private(anna).ID(), "text": "x"}
	if n, retry := burst(t, s, "sendMessage", body); n != 5 || retry != 1 {
		t.Errorf("%d at once, then retry after %d", n, retry)
	}
	call(t, s, "sendMessage", body)
	if got := s.RateViolations(); got != 1 {
		t.Errorf("%d violations, want 1", got)
	}
	for range 30 { // one a second is always fine
		clock.Advance(time.Second)
		must(t, s, "sendMessage", body, nil)
	}
	edit := fields{"chat_id": 7, "message_id": 1, "text": "y"}
	refused(t, s, "editMessageText", edit, 429, "Too Many Requests: retry after 1")
	clock.Advance(time.Second)
	must(t, s, "editMessageText", edit, nil)
	if n, retry := burst(t, s, "sendChatAction", fields{"chat_id": 7, "action": "typing"}); n != 20 || retry != 1 {
		t.Errorf("%d light calls at once, then retry after %d", n, retry)
	}
}

func TestRateOfAGroup(t *testing.T) {
	t.Parallel()
	s, clock, anna := ratedWorld(t)
	body := fields{"chat_id": s.Group(-20, "Group", anna).ID(), "text": "x"}
	for range 20 {
		must(t, s, "sendMessage", body, nil)
		clock.Advance(2 * time.Second)
	}
	refused(t, s, "sendMessage", body, 429, "Too Many Requests: retry after 20")
	clock.Advance(20 * time.Second)
	must(t, s, "sendMessage", body, nil)
}

func TestRateOfTheBot(t *testing.T) {
	t.Parallel()
	s, clock, _ := ratedWorld(t)
	accepted := 0
	for id := range int64(40) {
		chat := s.Private(s.User(100+id, "Someone", "", ""))
		if call(t, s, "sendMessage", fields{"chat_id": chat.ID(), "text": "x"}).OK {
			accepted++
		}
	}
	if accepted != 30 {
		t.Errorf("%d accepted at once, want 30", accepted)
	}
	clock.Advance(time.Second)
	must(t, s, "sendMessage", fields{"chat_id": 139, "text": "x"}, nil)
}
