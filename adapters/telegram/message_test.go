package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/adapters/telegram/telegramtest"
	"bareclaw/core"
	"bareclaw/core/ledger"
	"bareclaw/core/sessionfile"
)

// An idleAgent cannot be started: what is accepted fails.
type idleAgent struct{}

func (idleAgent) Compose(_ core.TurnID, content json.RawMessage) ([]byte, error) { return content, nil }
func (idleAgent) Reserve() (string, bool)                                        { return "", false }
func (idleAgent) Reap(context.Context, core.ChannelKey) error                    { return nil }
func (idleAgent) Live(context.Context) ([]core.ChannelKey, error)                { return nil, nil }
func (idleAgent) Lasting() bool                                                  { return true }
func (idleAgent) Start(context.Context, core.ChannelKey, core.Launch) (core.Session, error) {
	return nil, errors.New("it does not work")
}
func (idleAgent) Attach(context.Context, core.ChannelKey) (core.Session, error) {
	return nil, core.ErrNoHost
}
func (idleAgent) Fate(context.Context, core.ChannelKey, string, core.TurnID) (core.Fate, error) {
	return core.Fate{}, nil
}

// recording returns an adapter on a core with a ledger of its own. It listens to user
// 7, polls nothing, and brings nothing away.
func recording(t *testing.T) *Adapter {
	t.Helper()
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	l, err := ledger.Open(filepath.Join(dir, "ledger.db"), log)
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := sessionfile.Open(filepath.Join(dir, "sessions.json"), log)
	if err != nil {
		t.Fatal(err)
	}
	m := core.New(core.Options{Ledger: l, Sessions: sessions, Agent: idleAgent{}, Log: log, QueueLimit: 100})
	a, err := New(Options{Core: m, Push: &core.PushRegistry{}, Log: log, Token: telegramtest.DefaultToken, Allowed: []int64{7}, StateDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	a.ctx = ctx
	if err := a.remember(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		a.work.Wait()
		m.Detach()
		_ = sessions.Close()
		_ = l.Close()
	})
	return a
}

// arrivals makes updates 1, 2, … of messages in the private chat of user 7.
func arrivals(t *testing.T, messages ...string) []*arrival {
	t.Helper()
	var all []*arrival
	for i, m := range messages {
		raw := json.RawMessage(fmt.Sprintf(`{"update_id":%d,"message":{"message_id":%d,"chat":{"id":7},"from":{"id":7},%s}}`, i+1, i+1, m))
		u, err := decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &arrival{key: sourceKey(1, int64(i+1)), raw: raw, update: u})
	}
	return all
}

// accepts returns the texts of the chat's messages in the order of their acceptance.
func (a *Adapter) accepts(t *testing.T) []string {
	t.Helper()
	ms, err := a.o.Core.Messages(t.Context(), "tg-7", 100, "")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, m := range slices.Backward(ms) {
		texts = append(texts, m.Content.Text)
	}
	return texts
}

// TestAlbumThatWasCutByACrash holds that each of its messages is read once: those that
// were submitted before, and then the ones that came after it.
func TestAlbumThatWasCutByACrash(t *testing.T) {
	t.Parallel()
	a := recording(t)
	all := arrivals(t, `"media_group_id":"1","caption":"a"`, `"media_group_id":"1","caption":"b"`, `"media_group_id":"1","caption":"c"`, `"media_group_id":"1","caption":"d"`)
	p := place{chat: 7}
	for _, n := range []int{2, 2, 4, 4} { // none was noted as handled
		if err := a.message(t.Context(), p, all[:n]); err != nil {
			t.Fatal(err)
		}
	}
	if got := a.accepts(t); !slices.Equal(got, []string{"a\nb", "c\nd"}) {
		t.Errorf("accepted are %q", got)
	}
	for i, want := range []string{"a", "b", "c", "d"} {
		r := a.refOf(t.Context(), 7, i+1)
		if r.Caption != want || r.Message == "" {
			t.Errorf("of message %d is known %+v", i+1, r)
		}
	}
	if a.refOf(t.Context(), 7, 1).Message != a.refOf(t.Context(), 7, 2).Message || a.refOf(t.Context(), 7, 2).Message == a.refOf(t.Context(), 7, 3).Message {
		t.Error("which messages belong together is not known")
	}
}

// TestAlbumIsGathered holds which arrivals of a line are handled together, and that
// nothing waits for more than it has to.
func TestAlbumIsGathered(t *testing.T) {
	t.Parallel()
	one, two, plain := `"media_group_id":"1","caption":"x"`, `"media_group_id":"2","caption":"y"`, `"text":"z"`
	for _, c := range []struct {
		line []string
		age  time.Duration // of the last one
		size int           // 0: it is waited for more
	}{
		{[]string{plain}, 0, 1}, {[]string{plain, one}, 0, 1}, {[]string{one}, 0, 0}, {[]string{one, one}, 0, 0}, {[]string{one, one}, albumPause, 2},
		{[]string{one, one, plain}, 0, 2}, {[]string{one, one, two}, 0, 2}, {slices.Repeat([]string{one}, maxAlbum), 0, maxAlbum},
		{slices.Repeat([]string{one}, maxAlbum+1), 0, maxAlbum},
	} {
		n := &intake{lines: map[place]*line{}}
		l := &line{waiting: arrivals(t, c.line...), last: time.Now().Add(-c.age)}
		batch, wait := n.next(t.Context(), place{}, l)
		if len(batch) != c.size || wait > 0 != (c.size == 0) || wait > albumPause || len(batch)+len(l.waiting) != len(c.line) {
			t.Errorf("%v after %v: %d are handled, %v is waited", c.line, c.age, len(batch), wait)
		}
	}
}

// TestWhatIsLeftOut holds that nothing is submitted of what nobody has said, of users
// who are not listened to any more, and of what is not understood, which is told.
func TestWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	a := recording(t)
	for _, r := range arrivals(t, `"new_chat_title":"x"`, `"story":{"id":1}`, `"text":"hi","sender_chat":{"id":-5}`, `"text":"hello"`) {
		if err := a.message(t.Context(), place{chat: 7}, []*arrival{r}); err != nil {
			t.Error(err)
		}
	}
	a.allowed = nil
	for _, r := range arrivals(t, `"text":"who am I?"`) {
		if err := errors.Join(a.message(t.Context(), place{chat: 7}, []*arrival{r}), a.make(t.Context(), place{chat: 7}, []*arrival{r})); err != nil {
			t.Error(err)
		}
	}
	if got := a.accepts(t); !slices.Equal(got, []string{"hello"}) {
		t.Errorf("accepted are %q", got)
	}
	ds, err := a.o.Core.PendingDeliveries(t.Context(), Name)
	if err != nil || len(ds) == 0 || ds[0].ID != "unread:tg:1:2" || !strings.Contains(string(ds[0].Body), "do not understand") {
		t.Errorf("told is %+v, %v", ds, err)
	}
}
