package telegram

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/commands"
	"bareclaw/adapters/telegram/inbound"
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
	ms, err := lookup(a).Messages(t.Context(), "tg-7", 100, "")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, listed := range slices.Backward(ms) {
		m, err := a.o.Core.Messages.Message(t.Context(), listed.ID) // a list has no contents
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
	old, err := a.o.Core.Messages.Message(t.Context(), known.Message)
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.receiver.editedContent(t.Context(), chats.Address{Chat: 7}, known, old, &models.Message{Text: "the end"})
	if err != nil || c.Text != long+"the end" {
		t.Errorf("after an edit of the last part it is a text of %d bytes, %v", len(c.Text), err)
	}
}

// forwarded are the members of a message that somebody forwards.
const forwarded = `,"forward_origin":{"type":"hidden_user","date":1,"sender_user_name":"Dee"}`

// TestGathered holds which arrivals form one message, what may be next, and that nothing may be where a
// message is alone.
func TestGathered(t *testing.T) {
	t.Parallel()
	a := recording(t)
	text := func(n, date int, more string) string {
		return fmt.Sprintf(`"text":"%s","date":%d%s`, strings.Repeat("x", n), date, more)
	}
	full, end := text(markdown.MaxUnits, 5, ""), text(10, 5, "")
	album := func(id string) string {
		return `"date":5,"media_group_id":"` + id + `","caption":"x","photo":[{"file_id":"x"}]`
	}
	below := fmt.Sprintf(`,"reply_to_message":{"message_id":1,"date":1,"chat":{"id":7,"type":"private"},"from":{"id":%d,"is_bot":true,"first_name":"b"},`, a.env.Bot) +
		`"reply_markup":{"inline_keyboard":[[{"text":"Allow","callback_data":"allow:a1"}]]}}`
	for name, c := range map[string]struct {
		line []string
		want string // numbers of the arrivals that are one message
		next inbound.Next
	}{
		"alone":                  {[]string{end}, "1", inbound.Bundled},
		"long":                   {[]string{text(3500-1, 5, "")}, "1", inbound.Bundled},
		"two":                    {[]string{end, end}, "1", inbound.Nothing},
		"far apart":              {[]string{end, text(10, 7, forwarded)}, "1", inbound.Nothing},
		"a forward and comments": {[]string{text(10, 5, forwarded), end, end}, "1 2", inbound.Nothing},
		"a comment and forwards": {[]string{end, text(10, 5, forwarded), text(10, 6, forwarded)}, "1 2 3", inbound.Bundled},
		"a comment and an album": {[]string{end, album("1") + forwarded, album("1") + forwarded}, "1 2 3", inbound.Part},
		"a comment and a voice":  {[]string{end, `"date":5,"voice":{"file_id":"x"}` + forwarded}, "1 2", inbound.Bundled},
		"of others":              {[]string{end, `"text":"x","from":{"id":8},"date":5`}, "1", inbound.Bundled},
		"others in between":      {[]string{end, `"text":"x","from":{"id":8},"date":5`, text(10, 5, forwarded)}, "1 3", inbound.Bundled},
		"of a channel":           {[]string{end, `"text":"x","sender_chat":{"id":-5},"date":5`}, "1", inbound.Bundled},
		"a command":              {[]string{`"text":"/status","date":5`, end}, "1", inbound.Nothing},
		"a command after":        {[]string{end, `"text":"/status","date":5`}, "1", inbound.Nothing},
		"a command of claude":    {[]string{`"text":"/compact","date":5`, end}, "1", inbound.Nothing},
		"to a command of claude": {[]string{end, `"text":"@b /compact","date":5`}, "1", inbound.Nothing},
		"a path":                 {[]string{`"text":"/etc/passwd","date":5`}, "1", inbound.Nothing},
		"a reply":                {[]string{text(10, 5, `,"reply_to_message":{"message_id":1,"date":1,"chat":{"id":7,"type":"private"},"text":"x"}`)}, "1", inbound.Nothing},
		"a reply and a photo":    {[]string{text(10, 5, `,"reply_to_message":{"message_id":1,"date":1,"chat":{"id":7,"type":"private"},"text":"x"}`), `"photo":[{"file_id":"x"}],"date":5`}, "1", inbound.Nothing},
		"a decision":             {[]string{text(10, 5, below), end}, "1", inbound.Nothing},
		"an edit":                {[]string{end, `"text":"edit"`, end}, "1", inbound.Nothing},
		"a hundred forwards":     {slices.Repeat([]string{text(10, 5, forwarded)}, 102), "1 to 101", inbound.Nothing},
		"a part":                 {[]string{full}, "1", inbound.Part},
		"parts":                  {[]string{full, end}, "1 2", inbound.Bundled},
		"cut at a word":          {[]string{text(3900, 5, ""), end}, "1 2", inbound.Bundled},
		"unfinished parts":       {[]string{full, full}, "1 2", inbound.Part},
		"a part, a second later": {[]string{full, text(10, 7, "")}, "1 2", inbound.Bundled},
		"a part, later":          {[]string{full, text(10, 8, "")}, "1", inbound.Nothing},
		"a part and a command":   {[]string{full, `"text":"/status","date":5`}, "1", inbound.Nothing},
		"a long command":         {[]string{`"text":"/model ` + strings.Repeat("x", 3500) + `","date":5`, end}, "1", inbound.Nothing},
		"a long decision":        {[]string{text(markdown.MaxUnits, 5, below), end}, "1", inbound.Nothing},
		"no command":             {[]string{full, `"text":"/etc/passwd","date":5`}, "1 2", inbound.Nothing},
		"a part and a photo":     {[]string{full, `"caption":"x","photo":[{"file_id":"x"}],"date":5`}, "1 2", inbound.Bundled},
		"long of two units":      {[]string{text(0, 5, "")[:8] + strings.Repeat("\U0001F600", 3500/2-1) + `","date":5`}, "1", inbound.Bundled},
		"an album":               {[]string{album("1")}, "1", inbound.Part},
		"two of an album":        {[]string{album("1"), album("1")}, "1 2", inbound.Part},
		"two albums":             {[]string{album("1"), album("2")}, "1 2", inbound.Part},
		"an album and a text":    {[]string{album("1"), album("1"), end}, "1 2 3", inbound.Bundled},
		"a full album":           {slices.Repeat([]string{album("1")}, 10), "1 to 10", inbound.Bundled},
		"more than an album":     {slices.Repeat([]string{album("1")}, 11), "1 to 10", inbound.Nothing},
	} {
		t.Run(name, func(t *testing.T) {
			all := arrivals(t, c.line...)
			for _, r := range all {
				if r.update.Message.Text == "edit" {
					r.update.EditedMessage, r.update.Message = r.update.Message, nil
				}
			}
			batch, rest, next := newIntake(a.receiver, a.env).gather(all)
			var numbers []string
			for _, r := range batch {
				numbers = append(numbers, strconv.Itoa(slices.Index(all, r)+1))
			}
			got := strings.Join(numbers, " ")
			if n := len(numbers); n > 3 {
				got = "1 to " + numbers[n-1]
			}
			if got != c.want || next != c.next || len(batch)+len(rest) != len(all) {
				t.Errorf("%s are one message, next is %d, want %s and %d", got, next, c.want, c.next)
			}
		})
	}
}

// TestGatheringAwaitsPolls holds that a message is gathered for longer while its rest may
// wait at Telegram: while polls fail, and for a pause after they succeed again.
func TestGatheringAwaitsPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newIntake(nil, nil)
		l := &line{waiting: arrivals(t, `"media_group_id":"1"`), more: make(chan struct{}, 1)}
		last := time.Now()
		l.waiting[0].at = last
		n.lines[chats.Address{}] = l
		waits := func(want time.Duration) {
			t.Helper()
			if batch, wait := n.next(t.Context(), chats.Address{}, l); wait != want || len(batch) > 0 != (want == 0) {
				t.Errorf("after %v %d are handled, %v is waited, want %v", time.Since(last), len(batch), wait, want)
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
		time.Sleep(time.Until(last.Add(maxGather)))
		n.polled(true) // now and then
		waits(0)
	})
}

// TestHold holds how long a message is held: no longer than it takes a client to send what goes
// with it, whether polls succeed or not.
func TestHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newIntake(nil, nil)
		for _, polls := range []bool{true, false} {
			n.polled(polls)
			at := time.Now()
			if got := n.left(at, inbound.Bundled); got != holdPause {
				t.Errorf("it is held for %v", got)
			}
			time.Sleep(holdPause)
			if got := n.left(at, inbound.Bundled); got != 0 {
				t.Errorf("it is held for %v more", got)
			}
			if got := n.left(time.Now(), inbound.Nothing); got != 0 {
				t.Errorf("what is alone is held for %v", got)
			}
		}
	})
}

// TestBundle holds what Claude reads of a comment with what was forwarded, and that a bundle that was
// cut by a crash is read once.
func TestBundle(t *testing.T) {
	t.Parallel()
	a := recording(t)
	p := chats.Address{Chat: 7}
	ann := strings.Replace(forwarded, "Dee", "Ann", 1)
	all := arrivals(t, `"text":"What do you think of this?"`, `"text":"Friday."`+forwarded, `"text":"Monday."`+ann)
	for _, n := range []int{1, 3, 3} { // none was noted as handled
		if err := a.receiver.message(t.Context(), p, all[:n]); err != nil {
			t.Fatal(err)
		}
	}
	if got := a.accepts(t); !slices.Equal(got, []string{"What do you think of this?", "Forwarded from Dee:\nFriday.\n\nForwarded from Ann:\nMonday."}) {
		t.Errorf("accepted are %q", got)
	}
	b := recording(t)
	if err := b.receiver.message(t.Context(), p, all); err != nil {
		t.Fatal(err)
	}
	if got := b.accepts(t); !slices.Equal(got, []string{"What do you think of this?\n\nForwarded from Dee:\nFriday.\n\nForwarded from Ann:\nMonday."}) {
		t.Errorf("accepted are %q", got)
	}
}

// TestJoins holds which messages continue what their sender has just sent.
func TestJoins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s senders
		anna, bob := sender{chats.Address{Chat: 7}, 7}, sender{chats.Address{Chat: 7}, 8}
		s.note(anna, false)
		time.Sleep(joinWithin)
		if !s.joins(anna, time.Now(), true) || s.joins(bob, time.Now(), false) || s.joins(sender{chats.Address{Chat: 8}, 7}, time.Now(), false) {
			t.Error("somebody else continues it, or nobody")
		}
		time.Sleep(time.Millisecond)
		s.note(bob, true)
		if s.joins(bob, time.Now(), true) || !s.joins(bob, time.Now(), false) {
			t.Error("typed texts continue each other, or a forward does not continue a text")
		}
		if s.joins(anna, time.Now(), false) || len(s.last) != 1 {
			t.Error("it is continued later")
		}
	})
}

// TestLaterParts holds that what a person sends up to a second later is told to continue what has
// begun, and that of somebody else it is not.
func TestLaterParts(t *testing.T) {
	t.Parallel()
	a := recording(t)
	for i, r := range arrivals(t, `"text":"What?"`, `"text":"Friday."`+forwarded, `"text":"Hi","from":{"id":8}`, `"text":"there","from":{"id":8}`) {
		r.at = time.Now()
		a.chats.allowed[8] = true
		if err := a.receiver.message(t.Context(), chats.Address{Chat: 7}, []*arrival{r}); err != nil {
			t.Fatal(err)
		}
		m, err := a.o.Core.Messages.Message(t.Context(), a.env.Records.LinkOf(t.Context(), 7, i+1).Message)
		if want := []core.Mode{core.Collect, core.Join, core.Collect, core.Collect}[i]; err != nil || m.Mode != want {
			t.Errorf("message %d has the mode %s, %v, want %s", i+1, m.Mode, err, want)
		}
	}
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
	ds, err := store(a).PendingDeliveries(t.Context(), Name)
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
