package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/buildinfo"
	"bareclaw/internal/lockfile"

	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/proc"
)

// A diagnosis is what `bareclaw doctor --json` has printed.
type diagnosis struct {
	t        testing.TB
	Healthy  bool
	Version  string
	Findings []doctor.Finding
	raw      string
	status   int
}

// run runs the program on the machine, and returns what it printed and its status.
func (m *machine) run(args ...string) (stdout, stderr string, status int) {
	m.t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(m.executable(), args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = m.env, m.path("work"), &out, &errs
	if _, isExit := errors.AsType[*exec.ExitError](cmd.Run()); !isExit && cmd.ProcessState == nil {
		m.t.Fatalf("bareclaw %q did not run", args)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// doctor has the machine looked at.
func (m *machine) doctor(args ...string) *diagnosis {
	m.t.Helper()
	out, errs, status := m.run(append([]string{"doctor", "--json"}, args...)...)
	d := &diagnosis{t: m.t, raw: out, status: status}
	if err := json.Unmarshal([]byte(out), d); err != nil || errs != "" {
		m.t.Fatalf("doctor --json: %v, status %d\n%s%s", err, status, out, errs)
	}
	if want := map[bool]int{true: 0, false: 1}[d.Healthy]; status != want {
		m.t.Errorf("doctor ended with status %d, want %d\n%s", status, want, out)
	}
	return d
}

// quick has the machine looked at without a turn.
func (m *machine) quick(args ...string) *diagnosis {
	m.t.Helper()
	return m.doctor(append(args, "--no-turn")...)
}

// find returns the finding of that code, nil if there is none.
func (d *diagnosis) find(code string) *doctor.Finding {
	for i := range d.Findings {
		if d.Findings[i].Code == code {
			return &d.Findings[i]
		}
	}
	return nil
}

// tells fails unless there is a finding of that level and code whose sentence has the
// parts. Whatever is not as it should be must say why that matters.
func (d *diagnosis) tells(level doctor.Level, code string, parts ...string) *doctor.Finding {
	d.t.Helper()
	f := d.find(code)
	if f == nil {
		d.t.Errorf("doctor does not tell of %s\n%s", code, d.raw)
		return &doctor.Finding{}
	}
	if f.Level != level || f.Why == "" || f.Check == "" {
		d.t.Errorf("finding %s is a %s of the check %q with the reason %q, want a %s with a reason", code, f.Level, f.Check, f.Why, level)
	}
	for _, p := range parts {
		if !strings.Contains(f.What+"\n"+f.Command, p) {
			d.t.Errorf("finding %s does not name %q: %s\n%s", code, p, f.What, f.Command)
		}
	}
	return f
}

// silent fails if there is anything of that code.
func (d *diagnosis) silent(codes ...string) {
	d.t.Helper()
	for _, code := range codes {
		if f := d.find(code); f != nil {
			d.t.Errorf("doctor tells of %s: %s", code, f.What)
		}
	}
}

// fine fails unless a check has found only what is as it should be, and said so with
// those parts.
func (d *diagnosis) fine(check string, parts ...string) {
	d.t.Helper()
	said := ""
	for _, f := range d.Findings {
		if f.Check != check {
			continue
		}
		said += f.What + "\n"
		if f.Level != doctor.OK {
			d.t.Errorf("check %s: %s %s: %s", check, f.Level, f.Code, f.What)
		}
	}
	for _, p := range parts {
		if !strings.Contains(said, p) {
			d.t.Errorf("check %s does not say %q: %q", check, p, said)
		}
	}
	if said == "" {
		d.t.Errorf("check %s has found nothing\n%s", check, d.raw)
	}
}

// write makes a file of the machine.
func (m *machine) write(name, text string, mode os.FileMode) string {
	m.t.Helper()
	path := m.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := writeProgram(path, []byte(text)); err != nil { // if it is one
		m.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask
		m.t.Fatal(err)
	}
	return path
}

// A standIn answers like a daemon, as it is told to. Its process is the test's.
type standIn struct {
	*machine
	health map[string]any
	status int // of a refusal; 0: none
	token  string
	hang   bool // it never answers
}

// standIn puts something in the place of a daemon that says it is well.
func (m *machine) standIn(change func(*standIn)) *standIn {
	m.t.Helper()
	s := &standIn{machine: m, health: map[string]any{"pid": os.Getpid(), "version": buildinfo.Version(), "status": "ok", "agent": map[string]any{}}}
	change(s)
	unix, err := net.Listen("unix", m.path("run/api.sock"))
	if err != nil {
		m.t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		m.t.Fatal(err)
	}
	for _, l := range []net.Listener{unix, tcp} {
		server := &http.Server{Handler: s, ReadHeaderTimeout: patience}
		go func() { _ = server.Serve(l) }() // ends by Close
		m.t.Cleanup(func() { _ = server.Close() })
	}
	m.claimState(tcp.Addr().String())
	return s
}

// claimState says in the lock file that this process is the daemon.
func (m *machine) claimState(address string) {
	m.t.Helper()
	start, err := proc.StartTime(os.Getpid())
	if err != nil {
		m.t.Fatal(err)
	}
	m.heldBy(lockfile.Holder{PID: os.Getpid(), Start: start, Address: address, StartedAt: time.Now()})
}

func (m *machine) heldBy(h lockfile.Holder) {
	m.t.Helper()
	b, err := json.Marshal(h)
	if err != nil {
		m.t.Fatal(err)
	}
	m.write("state/"+lockfile.StateLockName, string(b), 0o600)
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
func (m *machine) scriptedClaude(version, answer string) string {
	m.t.Helper()
	return m.write("claude.sh", fmt.Sprintf(`#!/bin/sh
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
	if err != nil {
		t.Fatal(err)
	}
	return list
}
