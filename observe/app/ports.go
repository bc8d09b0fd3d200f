package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
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

// Probe returns the address of the app on a port, by the protocol that answers there: HTTP, or HTTPS with any certificate. The
// error says that neither does. The app sees a HEAD request of a page that it does not have, and if it answers with status 400,
// a GET request of the same page.
func Probe(ctx context.Context, port int) (*url.URL, error) {
	host := net.JoinHostPort("localhost", strconv.Itoa(port))
	plain := &url.URL{Scheme: "http", Host: host}
	isPlain, err := answersPlain(ctx, plain)
	if err == nil && isPlain {
		return plain, nil
	}
	secure := &url.URL{Scheme: "https", Host: host}
	_, failed := ask(ctx, http.MethodHead, secure)
	switch {
	case failed == nil:
		return secure, nil
	case err == nil: // with words of a server for HTTPS, which it is not
		return plain, nil
	}
	return nil, fmt.Errorf("nothing on port %d answers HTTP: %w", port, failed)
}

// answersPlain reports whether a server for HTTP answers: one for HTTPS says in plain text that it is one. The error says that
// neither answers.
func answersPlain(ctx context.Context, u *url.URL) (bool, error) {
	a, err := ask(ctx, http.MethodHead, u)
	if err != nil || a.status != http.StatusBadRequest {
		return err == nil, err
	}
	a, err = ask(ctx, http.MethodGet, u) // the answer to HEAD has no body
	if err != nil {
		return false, nil //nolint:nilerr // it has answered before
	}
	isSaid := func(sentence string) bool { return strings.Contains(a.body, sentence) }
	return a.status != http.StatusBadRequest || !slices.ContainsFunc(wantHTTPS(), isSaid), nil
}

// wantHTTPS returns what servers for HTTPS answer, with status 400, to a request without.
func wantHTTPS() []string {
	return []string{
		"Client sent an HTTP request to an HTTPS server.",   // Go
		"The plain HTTP request was sent to HTTPS port",     // nginx
		"speaking plain HTTP to an SSL-enabled server port", // Apache
	}
}

// An answer is what a server sends to a request.
type answer struct {
	status int
	body   string // its first bytes
}

// maxProbeBody bounds how much of an answer is read, in bytes.
const maxProbeBody = 4 << 10

// probePath is asked for by Probe.
const probePath = "/__brakit/probe"

// ask sends a request for the page of a probe.
func ask(ctx context.Context, method string, u *url.URL) (answer, error) {
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
	req, err := http.NewRequestWithContext(ctx, method, u.JoinPath(probePath).String(), nil)
	if err != nil {
		return answer{}, fmt.Errorf("make a request: %w", err)
	}
	res, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxProbeBody)) // what has come counts
	return answer{
		status: res.StatusCode,
		body:   string(body),
	}, nil
}
