package botapi_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
)

// TestConcurrently has users, bots and those who look do everything at once:
// under the race detector it finds state without its lock.
func TestConcurrently(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	const people, each = 8, 10
	var all sync.WaitGroup
	for p := range people {
		who := s.User(int64(100+p), fmt.Sprintf("User %d", p), "", "")
		all.Go(func() {
			own := s.Private(who)
			for i := range each {
				own.Send(who, fmt.Sprintf("message %d", i))
				own.AwaitText(fmt.Sprintf("ok: message %d", i))
				_, _, _, _ = s.Calls(), s.Dump(), own.History(), s.Pending()
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		next, answered := int64(0), 0
		for answered < people*each {
			var got []update
			r, err := post(t.Context(), s, "getUpdates", fields{"timeout": 50, "offset": next})
			if err != nil || !r.OK {
				t.Errorf("poll: %+v, %v", r, err)
				return
			}
			if err := json.Unmarshal(r.Result, &got); err != nil {
				t.Error(err)
				return
			}
			for _, u := range got {
				next = u.ID + 1
				answered++
				if r, err := post(t.Context(), s, "sendMessage", fields{"chat_id": u.Message.Chat.ID, "text": "ok: " + u.Message.Text}); err != nil || !r.OK {
					t.Errorf("send: %+v, %v", r, err)
				}
			}
		}
	}()
	all.Wait()
	<-done
	chat.Send(anna, "last")
	if got := s.CallCount("sendMessage"); got != people*each {
		t.Errorf("%d answers, want %d", got, people*each)
	}
}
