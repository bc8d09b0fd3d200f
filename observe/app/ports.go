package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"bareclaw/internal/proc"
)

// A Listener is a TCP socket on which processes accept connections.
type Listener struct {
	Port   int
	Socket string // names the socket: another one on the same port is that of another start of the app
}

// Listeners returns the listeners of the app and of what it has started, by their ports.
func (a *App) Listeners() ([]Listener, error) {
	processes, err := proc.ByEnviron(MarkVariable, a.isMarked)
	if err != nil {
		return nil, fmt.Errorf("find the app's processes: %w", err)
	}
	pids := make([]int, 0, len(processes)+1)
	for _, p := range processes {
		pids = append(pids, p.PID)
	}
	if pid := a.PID(); !slices.Contains(pids, pid) { // a program may hide its environment
		pids = append(pids, pid)
	}
	found, err := listeners(pids)
	slices.SortFunc(found, func(a, b Listener) int { return a.Port - b.Port })
	return found, err
}

// probeTimeout bounds how long a port may take to answer.
const probeTimeout = 2 * time.Second

// Probe returns the address of the app on a port, by the protocol that answers there: HTTP, or HTTPS with any certificate. The error says that neither does. The app sees a HEAD request of a page that it does not have.
func Probe(ctx context.Context, port int) (*url.URL, error) {
	host := net.JoinHostPort("localhost", strconv.Itoa(port))
	var last error
	for _, scheme := range []string{"http", "https"} {
		u := &url.URL{Scheme: scheme, Host: host}
		err := answers(ctx, u)
		if err == nil {
			return u, nil
		}
		last = err
	}
	return nil, fmt.Errorf("nothing on port %d answers HTTP: %w", port, last)
}

// probePath is asked for by Probe.
const probePath = "/__brakit/probe"

func answers(ctx context.Context, u *url.URL) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	client := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DisableKeepAlives: true,
			Proxy:             nil,                                   // the port is on this machine
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // likewise
		},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, u.JoinPath(probePath).String(), nil)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	if u.Scheme == "http" && res.StatusCode == http.StatusBadRequest {
		return errNotHTTP
	}
	return nil
}

// errNotHTTP is what Go's servers for HTTPS answer to a request without.
var errNotHTTP = fmt.Errorf("the port answers with status %d", http.StatusBadRequest)
