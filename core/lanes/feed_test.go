package lanes

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"bareclaw/core"
	"bareclaw/core/feed"
)

// drain returns what the subscription has now.
func drain(s *feed.Subscription) (all []core.Update) {
	for u, ok := s.Next(); ok; u, ok = s.Next() {
		all = append(all, u)
	}
	return all
}

// Who has an outcome and listens from then on does not hear that outcome again: it would
// take it for the next one.
func TestOutcomeBeforeSubscribing(t *testing.T) {
	t.Parallel()
	m := New(Options{
		Ledger: quickLedger{}, Agent: quickAgent{}, Sessions: &fakeSessions{ids: map[core.ChannelKey]string{}},
		Log: slog.New(slog.DiscardHandler),
	})
	if err := m.Recover(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	defer m.Detach()
	sub := m.Feeds.Subscribe("c")
	for range 2000 {
		ticket, err := m.SubmitAndWait(t.Context(), submission("hello"), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range drain(sub) {
			if u.Kind == core.UpdateResult && u.Message.ID != ticket.Message.ID {
				t.Fatalf("the result of %s is heard, which had its outcome before; want %s", u.Message.ID, ticket.Message.ID)
			}
		}
		sub.Close()
		sub = m.Feeds.Subscribe("c")
	}
	sub.Close()
}

func wantKinds(t *testing.T, s *feed.Subscription, want ...core.UpdateKind) (last core.UpdateID) {
	t.Helper()
	var got []core.UpdateKind
	for _, u := range drain(s) {
		got, last = append(got, u.Kind), u.ID
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || s.Gap() {
		t.Fatalf("updates are %v, gap %v; want %v", got, s.Gap(), want)
	}
	return last
}

func line(s string) json.RawMessage { return json.RawMessage(`{"say": "` + s + `"}`) }
