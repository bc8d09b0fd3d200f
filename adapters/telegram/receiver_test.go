package telegram

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/commands"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"

	"github.com/go-telegram/bot/models"
)

// arrivals makes updates 1, 2, … of messages in the private chat of user 7.
func arrivals(t *testing.T, messages ...string) []*arrival {
	t.Helper()
	var all []*arrival
	for i, m := range messages {
		raw := json.RawMessage(fmt.Sprintf(`{"update_id":%d,"message":{"message_id":%d,"chat":{"id":7},"from":{"id":7},%s}}`, i+1, i+1, m))
		u, err := botapi.DecodeUpdate(raw)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &arrival{Inbound: &core.Inbound{ID: sourceKey(1, int64(i+1)), Body: raw}, update: u})
	}
	return all
}

// accepts returns the texts of the chat's messages in the order of their acceptance.
func (a *Adapter) accepts(t *testing.T) []string {
	t.Helper()
	ms, err := a.env.Messages(t.Context(), "tg-7", 100, "")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, listed := range slices.Backward(ms) {
		m, err := a.env.Message(t.Context(), listed.ID) // a list has no contents
		if err != nil {
			t.Fatal(err)
		}
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
	p := chats.Address{Chat: 7}
	for _, n := range []int{2, 2, 4, 4} { // none was noted as handled
		if err := a.receiver.message(t.Context(), p, all[:n]); err != nil {
			t.Fatal(err)
		}
	}
	if got := a.accepts(t); !slices.Equal(got, []string{"a\nb", "c\nd"}) {
		t.Errorf("accepted are %q", got)
	}
	for i, want := range []string{"a", "b", "c", "d"} {
		r := a.env.Records.LinkOf(t.Context(), 7, i+1)
		if r.Caption != want || r.Message == "" {
			t.Errorf("of message %d is known %+v", i+1, r)
		}
	}
	if a.env.Records.LinkOf(t.Context(), 7, 1).Message != a.env.Records.LinkOf(t.Context(), 7, 2).Message || a.env.Records.LinkOf(t.Context(), 7, 2).Message == a.env.Records.LinkOf(t.Context(), 7, 3).Message {
		t.Error("which messages belong together is not known")
	}
}

// TestTextThatWasCutByACrash is the same of a text that a client has split, of which the
// first part was submitted by itself.
func TestTextThatWasCutByACrash(t *testing.T) {
	t.Parallel()
	a := recording(t)
	long := strings.Repeat("x", markdown.MaxUnits)
	all := arrivals(t, `"text":"`+long+`"`, `"text":"`+long+`"`, `"text":"z"`)
	for _, n := range []int{1, 1, 3, 2, 3} { // none was noted as handled
		if err := a.receiver.message(t.Context(), chats.Address{Chat: 7}, all[:n]); err != nil {
			t.Fatal(err)
		}
	}
	if got := a.accepts(t); !slices.Equal(got, []string{long, long + "z"}) {
		t.Errorf("accepted are %d texts", len(got))
	}
	known := a.env.Records.LinkOf(t.Context(), 7, 3)
	old, err := a.env.Message(t.Context(), known.Message)
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.receiver.editedContent(t.Context(), chats.Address{Chat: 7}, known, old, &models.Message{Text: "the end"})
	if err != nil || c.Text != long+"the end" {
		t.Errorf("after an edit of the last part it is a text of %d bytes, %v", len(c.Text), err)
	}
}

// TestTextIsGathered holds which parts are one text, and that no message waits that can
// be no part of one, nor one that is far below the limit.
func TestTextIsGathered(t *testing.T) {
	t.Parallel()
	a := recording(t)
	text := func(n, date int, more string) string {
		return fmt.Sprintf(`"text":"%s","date":%d%s`, strings.Repeat("x", n), date, more)
	}
	full, end := text(markdown.MaxUnits, 5, ""), text(10, 5, "")
	for name, c := range map[string]struct {
		line []string
		age  time.Duration
		size int // 0: more is waited for
	}{
		"short":            {[]string{end}, 0, 1},
		"below":            {[]string{text(3500-1, 5, "")}, 0, 1},
		"two short":        {[]string{end, end}, 0, 1},
		"full":             {[]string{full}, 0, 0},
		"full, late":       {[]string{full}, gatherPause, 1},
		"full, end":        {[]string{full, end}, 0, 2},
		"cut at a word":    {[]string{text(3900, 5, ""), end}, 0, 2},
		"full, full":       {[]string{full, full}, 0, 0},
		"full, full, end":  {[]string{full, full, end, end}, 0, 3},
		"a second later":   {[]string{full, text(10, 7, "")}, 0, 2},
		"later":            {[]string{full, text(10, 8, "")}, 0, 1},
		"of somebody else": {[]string{full, `"text":"x","from":{"id":8},"date":5`}, 0, 1},
		"a forward":        {[]string{full, text(10, 5, `,"forward_origin":{"type":"hidden_user","date":1,"sender_user_name":"x"}`)}, 0, 1},
		"a command":        {[]string{full, `"text":"/status","date":5`}, 0, 1},
		"a long command":   {[]string{`"text":"/model ` + strings.Repeat("x", 3500) + `","date":5`, end}, 0, 1},
		"a long decision": {[]string{text(markdown.MaxUnits, 5, `,"reply_to_message":{"message_id":1,"date":1,"chat":{"id":7,"type":"private"},`+
			fmt.Sprintf(`"from":{"id":%d,"is_bot":true,"first_name":"b"},`, a.env.Bot)+`"reply_markup":{"inline_keyboard":[[{"text":"Allow","callback_data":"allow:a1"}]]}}`), end}, 0, 1},
		"no command":        {[]string{full, `"text":"/etc/passwd","date":5`}, 0, 2},
		"a photo":           {[]string{full, `"caption":"x","photo":[{"file_id":"x"}],"date":5`}, 0, 1},
		"long of two units": {[]string{text(0, 5, "")[:8] + strings.Repeat("\U0001F600", 3500/2-1) + `","date":5`}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			n := newIntake(a.receiver, a.env)
			n.since = time.Now().Add(-gatherPause)
			l := &line{waiting: arrivals(t, c.line...), last: time.Now().Add(-c.age)}
			batch, wait := n.next(t.Context(), chats.Address{}, l)
			if len(batch) != c.size || wait > 0 != (c.size == 0) || wait > gatherPause || len(batch)+len(l.waiting) != len(c.line) {
				t.Errorf("%d are handled, %v is waited", len(batch), wait)
			}
		})
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
		{[]string{plain}, 0, 1}, {[]string{plain, one}, 0, 1}, {[]string{one}, 0, 0}, {[]string{one, one}, 0, 0}, {[]string{one, one}, gatherPause, 2},
		{[]string{one, one, plain}, 0, 2}, {[]string{one, one, two}, 0, 2}, {slices.Repeat([]string{one}, maxAlbum), 0, maxAlbum},
		{slices.Repeat([]string{one}, maxAlbum+1), 0, maxAlbum},
	} {
		n := newIntake(nil, nil)
		n.since = time.Now().Add(-gatherPause)
		l := &line{waiting: arrivals(t, c.line...), last: time.Now().Add(-c.age)}
		batch, wait := n.next(t.Context(), chats.Address{}, l)
		if len(batch) != c.size || wait > 0 != (c.size == 0) || wait > gatherPause || len(batch)+len(l.waiting) != len(c.line) {
			t.Errorf("%v after %v: %d are handled, %v is waited", c.line, c.age, len(batch), wait)
		}
	}
}

// TestGatheringAwaitsPolls holds that a message is gathered for longer while its rest may
// wait at Telegram: while polls fail, and for a pause after they succeed again.
func TestGatheringAwaitsPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newIntake(nil, nil)
		l := &line{waiting: arrivals(t, `"media_group_id":"1"`), last: time.Now(), more: make(chan struct{}, 1)}
		n.lines[chats.Address{}] = l
		waits := func(want time.Duration) {
			t.Helper()
			if batch, wait := n.next(t.Context(), chats.Address{}, l); wait != want || len(batch) > 0 != (want == 0) {
				t.Errorf("after %v %d are handled, %v is waited, want %v", time.Since(l.last), len(batch), wait, want)
			}
		}
		time.Sleep(5 * time.Second)
		waits(maxGather - 5*time.Second)
		n.polled(true)
		select {
		case <-l.more:
		default:
			t.Error("the line does not notice that polls succeed")
		}
		waits(gatherPause)
		time.Sleep(gatherPause / 2)
		n.polled(true)
		waits(gatherPause / 2)
		n.polled(false)
		waits(maxGather - 5*time.Second - gatherPause/2)
		time.Sleep(time.Until(l.last.Add(maxGather)))
		n.polled(true) // now and then
		waits(0)
	})
}

// TestWhatIsLeftOut holds that nothing is submitted of what nobody has said, of users
// who are not listened to any more, and of what is not understood, which is told.
func TestWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	a := recording(t)
	for _, r := range arrivals(t, `"new_chat_title":"x"`, `"story":{"id":1}`, `"text":"hi","sender_chat":{"id":-5}`, `"text":"hello"`) {
		if err := a.receiver.message(t.Context(), chats.Address{Chat: 7}, []*arrival{r}); err != nil {
			t.Error(err)
		}
	}
	clear(a.chats.allowed)
	for _, r := range arrivals(t, `"text":"who am I?"`) {
		if err := errors.Join(a.receiver.message(t.Context(), chats.Address{Chat: 7}, []*arrival{r}), a.receiver.handle(t.Context(), chats.Address{Chat: 7}, []*arrival{r})); err != nil {
			t.Error(err)
		}
	}
	if got := a.accepts(t); !slices.Equal(got, []string{"hello"}) {
		t.Errorf("accepted are %q", got)
	}
	ds, err := a.env.PendingDeliveries(t.Context(), Name)
	if err != nil || len(ds) == 0 || ds[0].ID != "unread:tg:1:2" || !strings.Contains(string(ds[0].Body), "do not understand") {
		t.Errorf("told is %+v, %v", ds, err)
	}
}

// TestPathsAreNoCommands holds that a text that begins like a command of another bot, and
// calls none, goes to Claude.
func TestPathsAreNoCommands(t *testing.T) {
	t.Parallel()
	a := recording(t)
	a.health.setName("our_bot")
	for text, own := range map[string]bool{"/home/a@b c": false, "/status@anna": false, "/help@our_bot": true} {
		c := commands.Call{Key: text, Address: chats.Address{Chat: 7}, Message: &models.Message{Text: text}}
		if got := a.commands.Handle(t.Context(), c); got != own {
			t.Errorf("%q is handled: %v", text, got)
		}
	}
}
