package telegram

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/core/lanes"

	"github.com/go-telegram/bot"
)

// talksTo returns an adapter that talks to a server of any kind.
func talksTo(t *testing.T, api string) *Adapter {
	t.Helper()
	return newAdapter(t, func(_ *lanes.Options, o *Options) { o.Token, o.API = "5:SECRET", api })
}

// attempts makes a call of each kind, and returns what they failed with, by kind.
func attempts(t *testing.T, a *Adapter) map[string]error {
	t.Helper()
	failures := map[string]error{}
	_, failures["poll"] = a.poller.client.Updates(t.Context(), 0, 0)
	_, failures["me"] = a.poller.client.Me(t.Context())
	_, failures["send"] = a.poller.client.SendMessage(t.Context(), &bot.SendMessageParams{ChatID: 7, Text: "hi"})
	failures["menu"] = a.commands.RegisterMenuOnce(t.Context())
	return failures
}

// TestTheTokenIsNotShown holds that no failure has the token in its words: they are in
// logs, in the ledger and in chats. What failed is told still.
func TestTheTokenIsNotShown(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]http.HandlerFunc{
		"page of a proxy": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprintf(w, "<html>%s is not available", r.URL)
		},
		"page that seems fine": func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%s", r.URL) },
		"JSON of something else": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"error":{"path":%q},"description":5}`, r.URL)
		},
		"cut connection": func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://0.0.0.0:1"+r.URL.Path, http.StatusTemporaryRedirect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(serve)
			defer s.Close()
			for what, err := range attempts(t, talksTo(t, s.URL)) {
				if err == nil {
					t.Errorf("%s did not fail", what)
				}
				if err != nil && strings.Contains(err.Error(), "SECRET") {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	for what, err := range attempts(t, talksTo(t, "http://127.0.0.1:1")) { // nobody listens
		if err == nil || strings.Contains(err.Error(), "SECRET") || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := talksTo(t, "http://127.0.0.1:1").poller.client.Updates(t.Context(), 0, 0)
	if got, want := pollProblem(err), "Telegram cannot be reached: dial: connect: connection refused"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRedirectsAreNotFollowed holds that no other server is asked: it would be told
// the token, as a part of the URL.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/elsewhere", http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	for what, err := range attempts(t, talksTo(t, s.URL)) {
		if err == nil || !strings.Contains(err.Error(), "307") && !strings.Contains(err.Error(), "Temporary Redirect") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the other server was asked %d times", n)
	}
}

// TestHugeAnswers holds that an answer without an end does not fill the memory.
func TestHugeAnswers(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chunk := []byte(strings.Repeat(" ", 1<<20))
		for n := 0; n < 256 && r.Context().Err() == nil; n++ {
			m, _ := w.Write(chunk)
			sent.Add(int64(m))
		}
	}))
	defer s.Close()
	_, err := talksTo(t, s.URL).sender.Client.SendMessage(context.WithoutCancel(t.Context()), &bot.SendMessageParams{ChatID: 7, Text: "hi"})
	if err == nil || sent.Load() > 64<<20 {
		t.Errorf("%v after %d bytes", err, sent.Load())
	}
}

// TestTapsOfThoseWhoWereHeard holds that a tap does nothing that was received while its
// user was listened to, and is handled when that is over: there is not even a core here.
func TestTapsOfThoseWhoWereHeard(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer s.Close()
	u, err := botapi.DecodeUpdate([]byte(`{"update_id":1,"callback_query":{"id":"1","from":{"id":8},"data":"ok:1","message":{"message_id":1,"date":1,"chat":{"id":-5}}}}`))
	if err != nil || u.CallbackQuery == nil {
		t.Fatalf("read: %v", err)
	}
	talksTo(t, s.URL).receiver.handleAside(t.Context(), &arrival{update: u})
	if n := asked.Load(); n > 0 {
		t.Errorf("Telegram was asked %d times", n)
	}
}
