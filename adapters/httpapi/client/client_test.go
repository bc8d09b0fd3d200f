package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/internal/testkit/check"
)

// serve has a handler answer on TCP and returns a client of it.
func serve(t *testing.T, token string, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return OverTCP(strings.TrimPrefix(s.URL, "http://"), token)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	rows := []struct {
		status     int
		body       string
		code, text string
	}{
		{429, `{"error":"The queue is full.","code":"queue_full"}`, "queue_full", "The queue is full."},
		{502, `<html>`, "", "The gateway answered 502 Bad Gateway. <html>"},
		{500, strings.Repeat("x", 1000), "", "The gateway answered 500 Internal Server Error."},
		{413, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the request is too large"}}`, "", "the request is too large"},
		{404, ``, "", "The gateway answered 404 Not Found."},
	}
	for _, row := range rows {
		c := serve(t, "", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(row.status)
			_, _ = w.Write([]byte(row.body))
		})
		err := c.Do(t.Context(), "GET", "/x", nil, nil)
		refused, ok := errors.AsType[*Error](err)
		if !ok || refused.Status != row.status || refused.Code != row.code || refused.Text != row.text || errors.Is(err, ErrUnreachable) {
			t.Errorf("status %d: %#v", row.status, err)
		}
	}
}

func TestRequestsCarryTokenAndBody(t *testing.T) {
	t.Parallel()
	c := serve(t, "sesame", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"text":%q}`, r.Header.Get("Authorization")+" "+r.Header.Get("Content-Type")+" "+r.Header.Get("Prefer"))
	})
	var got api.Message
	check.OK(t, c.DoWith(t.Context(), "POST", "/x", http.Header{"Prefer": {"respond-async"}}, map[string]int{"n": 1}, &got))
	if want := "Bearer sesame application/json respond-async"; got.Text != want {
		t.Errorf("the request has %q, want %q", got.Text, want)
	}
	if err := c.Do(t.Context(), "GET", "/x", nil, new([]int)); err == nil || !strings.Contains(err.Error(), "understand") {
		t.Errorf("a reply of another shape: %v", err)
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]*Client{
		"no socket":  OverSocket(filepath.Join(t.TempDir(), "api.sock")),
		"no process": OverSocket(leftSocket(t)),
		"no port":    OverTCP("127.0.0.1:1", ""),
	} {
		if err := c.Do(t.Context(), "GET", "/health", nil, nil); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), c.Where()) {
			t.Errorf("%s: %v", name, err)
		}
		f := Following{Client: c, Patience: time.Hour}
		if _, err := f.Post(t.Context(), "/message", nil, "k"); !errors.Is(err, ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// leftSocket returns the path of a socket whose process is gone.
func leftSocket(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	check.OK(t, err)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = l.Close()
	return path
}

func TestInheritedSocket(t *testing.T) {
	for value, want := range map[string]string{"": "", "relative": "", "/run/api.sock": "at the socket /run/api.sock"} {
		t.Setenv(SocketVariable, value)
		switch c := Inherited(); {
		case c == nil && want != "":
			t.Errorf("%q: no client", value)
		case c != nil && c.Where() != want:
			t.Errorf("%q: %s", value, c.Where())
		}
	}
}

// An exchange is one request that a scripted gateway gets, and what it does.
type exchange struct {
	want   string // method, path, key and last id
	events string
	die    bool // cut the connection then
	status int
	body   string
}

// script has the gateway answer requests in that order.
func script(t *testing.T, all []exchange) *Client {
	t.Helper()
	n := 0
	return serve(t, "", func(w http.ResponseWriter, r *http.Request) {
		if n >= len(all) {
			t.Errorf("one request too many: %s %s", r.Method, r.URL)
			return
		}
		x := all[n]
		n++
		if got := strings.TrimSpace(fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.Header.Get("Idempotency-Key"), " ", r.Header.Get("Last-Event-ID"))); got != x.want {
			t.Errorf("request %d is %q, want %q", n, got, x.want)
		}
		if x.status != 0 {
			w.WriteHeader(x.status)
			_, _ = w.Write([]byte(x.body))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(x.events))
		if x.die {
			if x.events != "" {
				_ = http.NewResponseController(w).Flush()
			}
			panic(http.ErrAbortHandler)
		}
	})
}

func TestFollowingGoesOnWhereItEnded(t *testing.T) {
	t.Parallel()
	const path = "GET /messages/m1/events"
	c := script(t, []exchange{
		{want: "POST /message k", die: true}, // it is not known whether it has arrived
		{want: "POST /message k", events: "id: a-1\nevent: accepted\ndata: {\"message_id\":\"m1\"}\n\nid: a-2\nevent: event\ndata: {}\n\n", die: true},
		{want: path + "  a-2", events: "event: restarting\ndata: {}\n\n"},
		{want: path + "  a-2", status: 503, body: `{"error":"It ends.","code":"shutting_down"}`},
		{want: path + "  a-2", events: "id: a-3\nevent: result\ndata: {\"text\":\"done\"}\n\n"},
	})
	var kinds []string
	away := 0
	f := Following{Client: c, Patience: time.Minute, Event: func(e Event) { kinds = append(kinds, e.Kind) }, Away: func(error) { away++ }}
	got, err := f.Post(t.Context(), "/message", map[string]string{"text": "x"}, "k")
	if err != nil || string(got) != `{"text":"done"}` || f.Message() != "m1" {
		t.Errorf("the outcome of %s is %s, %v", f.Message(), got, err)
	}
	if all := strings.Join(kinds, " "); all != "accepted event restarting" || away != 3 {
		t.Errorf("events %s, %d times away", all, away)
	}
}

func TestFollowingEndsWithARefusal(t *testing.T) {
	t.Parallel()
	c := script(t, []exchange{{want: "POST /message k", status: 429, body: `{"error":"Full.","code":"queue_full"}`}})
	f := Following{Client: c, Patience: time.Minute}
	if _, err := f.Post(t.Context(), "/message", nil, "k"); err == nil || err.Error() != "Full." || f.Message() != "" {
		t.Errorf("error %v", err)
	}
}

func TestFollowingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	why := errors.New("enough")
	ctx, stop := context.WithCancelCause(t.Context())
	c := serve(t, "", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("event: accepted\ndata: {\"message_id\":\"m1\"}\n\n"))
		_ = http.NewResponseController(w).Flush()
		stop(why)
		<-r.Context().Done()
	})
	f := Following{Client: c, Patience: time.Minute}
	if _, err := f.Post(ctx, "/message", nil, "k"); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
}

// TestFollowingIsPatientForSoLong has a gateway that was there never come back.
func TestFollowingIsPatientForSoLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refuse := func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
		}
		times := 0
		c := &Client{http: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if times++; times == 1 {
				return nil, errors.New("cut")
			}
			return refuse(r)
		})}, base: "http://localhost"}
		began := time.Now()
		f := Following{Client: c, Patience: time.Minute}
		_, err := f.Post(t.Context(), "/message", nil, "k")
		if took := time.Since(began); !errors.Is(err, ErrUnreachable) || took < time.Minute || took > time.Minute+2*maxRetryPause {
			t.Errorf("%v after %v", err, took)
		}
		if times < 60 || times > 70 {
			t.Errorf("%d tries in a minute", times)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
