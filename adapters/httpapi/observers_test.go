package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
)

// observed are the observers of a gateway that has one, shop, which starts others at targets without "bad".
type observed struct {
	fault   error
	started api.StartObserver
}

func shop() api.Observer {
	return api.Observer{
		ID:         "shop",
		Dir:        "/srv/shop",
		Address:    "http://127.0.0.1:4400",
		PID:        7,
		Port:       4401,
		Notify:     api.NotifyTell,
		Started:    startedAt,
		Open:       1,
		Severities: map[string]int{"critical": 1},
	}
}

func (o *observed) List(context.Context) api.Observers {
	return api.Observers{
		Observers: []api.Observer{shop()},
		Directory: "/state/observe",
		Port:      3000,
	}
}

func (o *observed) Start(_ context.Context, s api.StartObserver) (api.Observer, error) {
	if strings.Contains(s.Target, "bad") {
		return api.Observer{}, fmt.Errorf("%s is not this machine: %w", s.Target, ErrTarget)
	}
	o.started = s
	return shop(), o.fault
}

func (o *observed) Stop(_ context.Context, id string) error {
	if id != "shop" {
		return core.ErrNotFound
	}
	return o.fault
}

// answerObserver answers as the API of an observer does: with the status that the test asks for, or with success.
func answerObserver(w http.ResponseWriter, r *http.Request) {
	status, _ := strconv.Atoi(r.Header.Get("Test-Status"))
	status = cmp.Or(status, http.StatusOK)
	if strings.HasPrefix(r.URL.Path, "none/") {
		status = http.StatusNotFound
	}
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	switch {
	case status >= http.StatusBadRequest:
		_, _ = io.WriteString(w, `{"error":"no","code":"observer_failed"}`)
	default:
		_, _ = io.WriteString(w, `{"path":`+strconv.Quote(r.URL.RequestURI())+`}`)
	}
}

// TestObservers lists, starts and ends observers, and passes on to them, also over the Unix socket.
func TestObservers(t *testing.T) {
	known := &observed{}
	r := startRig(t, func(o *Options) { o.Observers = known })
	dir := t.TempDir()
	for _, over := range []*http.Client{r.client, r.local} {
		send := func(method, path, body string) answer { return r.do(over, r.request(method, path, body)) }
		if all := send("GET", "/observers", ""); all.status != http.StatusOK || !strings.Contains(all.body, `"id":"shop"`) {
			t.Errorf("got %d %s", all.status, all.body)
		}
		made := send("POST", "/observers", `{"dir":"`+dir+`","target":"http://localhost:3000","channel":"tg-1"}`)
		r.want(made, http.StatusCreated, "")
		if made.field(t, "address") != "http://127.0.0.1:4400" || known.started.Channel != "tg-1" {
			t.Errorf("got %s of %+v", made.body, known.started)
		}
		r.want(send("DELETE", "/observers/shop", ""), http.StatusOK, "")
		r.want(send("DELETE", "/observers/none", ""), http.StatusNotFound, "not_found")
		passed := send("GET", "/observers/shop/api/metrics/live?x=1", "")
		if passed.field(t, "path") != "shop/api/metrics/live?x=1" {
			t.Errorf("got %s", passed.body)
		}
	}
	for body, code := range map[string]string{
		`{"target":"http://localhost:3000"}`:                                    "bad_dir",
		`{"dir":"shop","target":"http://localhost:3000"}`:                       "bad_dir",
		`{"dir":"` + dir + `/none","target":"http://localhost:3000"}`:           "bad_dir",
		`{"dir":"` + dir + `"}`:                                                 "bad_target",
		`{"dir":"` + dir + `","target":"http://bad"}`:                           "bad_target",
		`{"dir":"` + dir + `","target":"http://localhost:3000","port":70000}`:   "bad_port",
		`{"dir":"` + dir + `","target":"http://localhost:3000","notify":"fix"}`: "bad_notify",
		`{"dir":"` + dir + `","target":"http://localhost:3000","channel":" "}`:  "bad_channel",
	} {
		r.want(r.send("POST", "/observers", body), http.StatusBadRequest, code)
	}
	known.fault = errors.New("port 4400 is taken")
	failed := r.send("POST", "/observers", `{"dir":"`+dir+`","target":"http://localhost:3000"}`)
	r.want(failed, http.StatusBadGateway, "observer_failed")
	if !strings.Contains(failed.body, "Port 4400 is taken") {
		t.Errorf("got %s", failed.body)
	}
}
