package setup

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bareclaw/internal/buildinfo"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// A standIn answers like a daemon, as it is told to. Its process is the test's.
type standIn struct {
	*harness.Machine
	health map[string]any
	status int // of a refusal; 0: none
	token  string
	hang   bool // it never answers
}

// startStandIn puts something in the place of a daemon that says it is well.
func startStandIn(m *harness.Machine, change func(*standIn)) *standIn {
	m.T.Helper()
	s := &standIn{Machine: m, health: map[string]any{"pid": os.Getpid(), "version": buildinfo.Version(), "status": "ok", "agent": map[string]any{}}}
	change(s)
	unix, err := net.Listen("unix", m.Path("run/api.sock"))
	check.OK(m.T, err)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(m.T, err)
	for _, l := range []net.Listener{unix, tcp} {
		server := &http.Server{Handler: s, ReadHeaderTimeout: harness.Patience}
		go func() { _ = server.Serve(l) }() // ends by Close
		m.T.Cleanup(func() { _ = server.Close() })
	}
	claimState(m, tcp.Addr().String())
	return s
}

// claimState says in the lock file that this process is the daemon.
func claimState(m *harness.Machine, address string) {
	m.T.Helper()
	start, err := proc.StartTime(os.Getpid())
	check.OK(m.T, err)
	heldBy(m, lockfile.Holder{PID: os.Getpid(), Start: start, Address: address, StartedAt: time.Now()})
}

func heldBy(m *harness.Machine, h lockfile.Holder) {
	m.T.Helper()
	b, err := json.Marshal(h)
	check.OK(m.T, err)
	m.Write("state/"+lockfile.StateLockName, string(b), 0o600)
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	local := r.Context().Value(http.LocalAddrContextKey).(net.Addr).Network() == "unix"
	w.Header().Set("Content-Type", "application/json")
	switch {
	case s.hang:
		<-r.Context().Done()
	case s.status != 0:
		w.WriteHeader(s.status)
		_, _ = io.WriteString(w, `{"error":"Not you.","code":"foreign_host"}`)
	case !local && s.token != "" && r.Header.Get("Authorization") != "Bearer "+s.token:
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":"No token.","code":"unauthorized"}`)
	default:
		_ = json.NewEncoder(w).Encode(s.health)
	}
}

// scriptedClaude makes a claude that calls itself that version, gets ready, and answers a
// message with what a line of shell does; $uuid is the message's.
func scriptedClaude(m *harness.Machine, version, answer string) string {
	m.T.Helper()
	return m.Write("claude.sh", fmt.Sprintf(`#!/bin/sh
if [ "$1" = --version ]; then echo '%s (Claude Code)'; exit; fi
read -r line
echo '{"type":"control_response","response":{"subtype":"success","request_id":"doctor","response":{}}}'
read -r line
uuid=${line##*\"uuid\":\"}; uuid=${uuid%%%%\"*}
%s
`, version, answer), 0o700)
}

// result is a line of shell that ends a turn in that way.
func result(fields string) string {
	return `echo '{"type":"result","subtype":"success","user_message_uuids":["'$uuid'"],` + fields + `}'`
}

// tree lists the files below a directory.
func tree(t testing.TB, dir string) string {
	t.Helper()
	list := ""
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			list += fmt.Sprintf("%s %v %d\n", path, info.Mode(), info.Size())
		}
		return err
	})
	check.OK(t, err)
	return list
}
