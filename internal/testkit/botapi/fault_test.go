package botapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/testkit/botapi"
)

func TestScriptedAnswers(t *testing.T) {
	t.Parallel()
	s, _, chat := world(t)
	s.Script("sendMessage", chat.ID(), botapi.InternalError(), botapi.Pass(), botapi.Conflict(), botapi.Refuse(403, "Forbidden: no"), botapi.BadGateway())
	body := fields{"chat_id": chat.ID(), "text": "x"}
	must(t, s, "getMe", nil, nil) // not meant
	refused(t, s, "sendMessage", body, 500, "Internal Server Error")
	must(t, s, "sendMessage", body, nil)
	refused(t, s, "sendMessage", body, 409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running")
	refused(t, s, "sendMessage", body, 403, "Forbidden: no")
	var syntax *json.SyntaxError
	if r, err := post(t.Context(), s, "sendMessage", body); !errors.As(err, &syntax) || r.Status != http.StatusBadGateway || !strings.Contains(err.Error(), "<html>") {
		t.Errorf("502: %+v, %v", r, err)
	}
	if s.Scripted() != 0 {
		t.Errorf("%d steps left", s.Scripted())
	}
	must(t, s, "sendMessage", body, nil)
	if got := len(chat.Messages()); got != 2 {
		t.Errorf("%d messages, want 2", got)
	}
	calls := s.Calls("sendMessage")
	if len(calls) != 6 || calls[0].Code != 500 || calls[0].Carried || !calls[1].Carried || calls[1].Message == 0 || calls[4].Code != 502 {
		t.Errorf("calls %v", calls)
	}
}

func TestScriptedFlood(t *testing.T) {
	t.Parallel()
	clock := botapi.NewClock(time.Unix(1_800_000_000, 0))
	s, _, chat := world(t, botapi.WithClock(clock.Now))
	s.Script("", chat.ID(), botapi.TooMany(5))
	body := fields{"chat_id": chat.ID(), "text": "x"}
	r := refused(t, s, "sendMessage", body, 429, "Too Many Requests: retry after 5")
	if r.Parameters.RetryAfter != 5 {
		t.Errorf("parameters %+v", r.Parameters)
	}
	must(t, s, "sendChatAction", fields{"chat_id": chat.ID(), "action": "typing"}, nil) // another class
	clock.Advance(3 * time.Second)
	refused(t, s, "sendMessage", body, 429, "Too Many Requests: retry after 2")
	clock.Advance(2 * time.Second)
	must(t, s, "sendMessage", body, nil)
	if got := s.RateViolations(); got != 1 {
		t.Errorf("%d violations, want 1", got)
	}
	s.Script("getUpdates", 0, botapi.TooMany(4))
	refused(t, s, "getUpdates", nil, 429, "Too Many Requests: retry after 4")
	must(t, s, "getMe", nil, nil) // only polls have to wait
	clock.Advance(4 * time.Second)
	must(t, s, "getUpdates", nil, nil)
	if got := s.CallCount("getUpdates", "getMe"); got != 3 || s.CallCount() != 7 {
		t.Errorf("%d polls and getMe, %d calls in all", got, s.CallCount())
	}
}

func TestResets(t *testing.T) {
	t.Parallel()
	s, _, chat := world(t)
	for _, tc := range []struct {
		step    botapi.Step
		carried bool
		outcome string
	}{
		{botapi.ResetBefore(), false, "fault: reset before"},
		{botapi.ResetAfter(), true, "fault: reset after"},
		{botapi.ResetMidBody(), true, "fault: reset in the body"},
	} {
		before := len(chat.Messages())
		s.Script("sendMessage", 0, tc.step)
		// A fresh connection: on a used one the client may try again by itself.
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/bot"+s.Token()+"/sendMessage?chat_id=7&text=x", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if err == nil {
			t.Errorf("%s: answered", tc.outcome)
		}
		calls := s.Calls("sendMessage")
		c := calls[len(calls)-1]
		if c.Outcome != tc.outcome || c.Carried != tc.carried || c.Code != 0 || (len(chat.Messages()) > before) != tc.carried {
			t.Errorf("%s: call %v, carried %v, code %d, %d messages after %d", tc.outcome, c, c.Carried, c.Code, len(chat.Messages()), before)
		}
	}
}

func TestHold(t *testing.T) {
	t.Parallel()
	s, _, chat := world(t)
	before, after := s.Hold("sendMessage", 0), s.HoldAnswer("sendMessage", 0)
	answered := make(chan error, 2)
	send := func(text string) {
		_, err := post(t.Context(), s, "sendMessage", fields{"chat_id": chat.ID(), "text": text})
		answered <- err
	}
	go send("one")
	s.Await(t, "held call", before.Reached)
	if got := len(chat.Messages()); got != 0 {
		t.Errorf("%d messages while it is held", got)
	}
	before.Release()
	before.Release()
	if err := <-answered; err != nil {
		t.Error(err)
	}
	go send("two")
	s.Await(t, "held answer", after.Reached)
	if got := len(chat.Messages()); got != 2 {
		t.Errorf("%d messages while the answer is held, want 2", got)
	}
	after.Release()
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

func TestHeldClientLeaves(t *testing.T) {
	t.Parallel()
	s, _, chat := world(t)
	held := s.Hold("sendMessage", 0)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := post(ctx, s, "sendMessage", fields{"chat_id": chat.ID(), "text": "x"})
		left <- err
	}()
	s.Await(t, "held call", held.Reached)
	leave()
	if err := <-left; err == nil {
		t.Error("answered")
	}
	s.Await(t, "end of the call", func() bool { return s.Calls("sendMessage")[0].Outcome != "" })
	if c := s.Calls("sendMessage")[0]; c.Carried || c.Outcome != "fault: the client left while it was held" {
		t.Errorf("call %v", c)
	}
	s.Script("getMe", 0, botapi.Delay(time.Millisecond))
	must(t, s, "getMe", nil, nil)
}

func TestStalledPoll(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	held := s.Hold("getUpdates", 0)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	go func() { _, _ = post(ctx, s, "getUpdates", fields{"timeout": 1}) }() // it is never answered
	s.Await(t, "stalled poll", held.Reached)
	id := chat.Send(anna, "hi").UpdateID
	if got := updates(t, s, nil); len(got) != 1 || got[0].ID != id {
		t.Errorf("a second poll got %v", got)
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	chat.Send(anna, "kept")
	poll := make(chan error, 1)
	id := s.Pending()[0]
	go func() {
		_, err := post(t.Context(), s, "getUpdates", fields{"timeout": 50, "offset": id + 1})
		poll <- err
	}()
	s.Await(t, "poll", s.Polling)
	s.DropNetwork()
	if err := <-poll; err == nil {
		t.Error("the poll was answered")
	}
	var refusedErr *net.OpError
	if _, err := post(t.Context(), s, "getMe", nil); !errors.As(err, &refusedErr) {
		t.Errorf("without a network: %v", err)
	}
	url := s.URL()
	s.RestoreNetwork()
	s.RestoreNetwork()
	must(t, s, "getMe", nil, nil)
	if s.URL() != url || len(chat.Messages()) != 1 {
		t.Errorf("%s after %s, %d messages", s.URL(), url, len(chat.Messages()))
	}
}

func TestBrokenDownload(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	chat.Send(anna, "", botapi.WithMedia(botapi.Document("a", "", []byte(repeat("x", 1000)))))
	var file struct {
		Path string `json:"file_path"`
	}
	must(t, s, "getFile", fields{"file_id": updates(t, s, nil)[0].Message.Document.FileID}, &file)
	s.Script("file", 0, botapi.Refuse(500, "Internal Server Error"), botapi.ResetMidBody())
	if _, code := fetch(t, s, file.Path); code != 500 {
		t.Errorf("status %d, want 500", code)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/file/bot"+s.Token()+"/"+file.Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if err == nil {
		t.Error("the download is whole")
	}
	if body, code := fetch(t, s, file.Path); code != 200 || len(body) != 1000 {
		t.Errorf("then %d with %d bytes", code, len(body))
	}
}
