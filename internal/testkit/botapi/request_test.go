package botapi_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"github.com/go-telegram/bot"

	"bareclaw/internal/testkit/botapi"
)

func TestBodies(t *testing.T) {
	t.Parallel()
	s, _, chat := world(t)
	must(t, s, "sendMessage", fields{"chat_id": chat.ID(), "text": "as JSON"}, nil)
	form := url.Values{"chat_id": {"7"}, "text": {"as a form"}}
	r, err := send(t.Context(), s.URL()+"/bot"+s.Token()+"/sendMessage", "application/x-www-form-urlencoded", []byte(form.Encode()))
	if err != nil || !r.OK {
		t.Errorf("urlencoded: %+v, %v", r, err)
	}
	if r := upload(t, s, "sendMessage", map[string]string{"chat_id": "7", "text": "as multipart"}, "", "", nil); !r.OK {
		t.Errorf("multipart: %+v", r)
	}
	b := newBot(t, s) // calls getMe with a multipart content type and no body
	if _, err := b.SendMessage(t.Context(), &bot.SendMessageParams{ChatID: chat.ID(), Text: "by the library"}); err != nil {
		t.Error(err)
	}
	for i, want := range []string{"as JSON", "as a form", "as multipart", "by the library"} {
		if got := chat.Messages()[i]; got.Text != want || !got.FromBot {
			t.Errorf("message %d is %v, want %q of the bot", i, got, want)
		}
	}
	if r, err := send(t.Context(), s.URL()+"/bot"+s.Token()+"/GETME", "", nil); err != nil || !r.OK {
		t.Errorf("upper case: %+v, %v", r, err)
	}
	if r, err := send(t.Context(), s.URL()+"/bot"+s.Token()+"/sendMessage", "application/json", []byte("{")); err != nil || r.Code != http.StatusBadRequest {
		t.Errorf("broken JSON: %+v, %v", r, err)
	}
}

func TestTokenAndMethod(t *testing.T) {
	t.Parallel()
	s, _, _ := world(t, botapi.WithToken("42:secret"))
	if s.BotID() != 42 {
		t.Errorf("bot id %d", s.BotID())
	}
	for path, want := range map[string]struct {
		code int
		text string
	}{
		"/bot42:wrong/getMe":   {http.StatusUnauthorized, "Unauthorized"},
		"/bot42:secret/getYou": {http.StatusNotFound, "Not Found: method not found"},
		"/elsewhere":           {http.StatusNotFound, "Not Found"},
	} {
		r, err := send(t.Context(), s.URL()+path, "", nil)
		if err != nil || r.Code != want.code || r.Status != want.code || r.Description != want.text {
			t.Errorf("%s: %+v, %v, want %d %s", path, r, err, want.code, want.text)
		}
	}
	s.RevokeToken()
	refused(t, s, "getMe", nil, http.StatusUnauthorized, "Unauthorized")
	s.RestoreToken()
	must(t, s, "getMe", nil, nil)
	must(t, s, "close", nil, nil)
	must(t, s, "logOut", nil, nil)
	refused(t, s, "getMe", nil, http.StatusBadRequest, "Bad Request: Logged out")
}

func TestTokenNeedsAnID(t *testing.T) {
	t.Parallel()
	if _, err := botapi.NewServer(botapi.WithToken("nonsense")); err == nil {
		t.Error("a token without a bot's id was taken")
	}
}

func TestViolationsFailTheTest(t *testing.T) {
	t.Parallel()
	stub := &stubTB{TB: t}
	s := botapi.New(stub)
	s.Private(s.User(7, "Anna", "", ""))
	must(t, s, "sendMessage", fields{"chat_id": 7, "text": "hi", "colour": "red"}, nil)
	must(t, s, "sendMessage", fields{"chat_id": 7, "text": "<b>hi</b>", "parse_mode": "HTML"}, nil)
	must(t, s, "sendMessage", fields{"chat_id": 7, "text": "hi", "disable_notification": "maybe"}, nil)
	if got := len(s.Violations()); got != 3 || stub.errors() != got {
		t.Errorf("%d violations and %d errors, want 3: %q", got, stub.errors(), s.Violations())
	}
}

func TestMisuseOutsideOfATestPanics(t *testing.T) {
	t.Parallel()
	s, err := botapi.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer func() {
		if _, ok := recover().(botapi.Misuse); !ok {
			t.Error("a stranger could send")
		}
	}()
	s.Group(-5, "Group").Send(s.User(7, "Anna", "", ""), "hi")
}

func TestCloseEndsPolls(t *testing.T) {
	t.Parallel()
	s, err := botapi.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := post(context.Background(), s, "getUpdates", fields{"timeout": 50})
		ended <- err
	}()
	s.Await(t, "poll", s.Polling)
	s.Close()
	s.Close()
	if err := <-ended; err == nil {
		t.Error("the poll was answered")
	}
}
