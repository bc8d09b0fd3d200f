package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/config"
	"bareclaw/internal/proc"
	"bareclaw/internal/statemark"
	"bareclaw/sessionhost"
)

func checkGateway(ctx context.Context, r *report) {
	h := r.holder()
	stoppedAt, stopped := statemark.StoppedAt(r.cfg.StateDir())
	switch {
	case h.alive && h.LacksWorker():
		r.problem("gateway_crashing", fmt.Sprintf("The gateway (pid %d) crashes: its worker has ended, and is started again after a pause of a minute at most.", h.PID),
			"Nothing is answered meanwhile; a restart is not heard either.", "`bareclaw logs` says why; once that is mended, wait for the next start, or `bareclaw stop` and `bareclaw start`")
	case h.alive:
		checkRunning(r, h)
		overTCP(ctx, r)
	case stopped:
		r.warning("gateway_down", "The gateway was stopped by you at "+stoppedAt.Local().Format(time.DateTime)+", and stays down until you start it.",
			"Nothing is accepted.", startGateway)
	case h.known && !h.Ended:
		r.problem("gateway_died", fmt.Sprintf("The gateway (pid %d, since %s) has ended without being told to, and is not running.",
			h.PID, h.StartedAt.Format(time.DateTime)), "Nothing is accepted. What was accepted is answered after the next start.",
			"`"+startGateway+"`; `bareclaw logs` says why it ended")
	default:
		r.warning("gateway_down", "The gateway is not running.", "Nothing is accepted.", startGateway)
	}
}

// checkRunning reports the gateway's own health, or explains a gateway that does not answer
// on its socket.
func checkRunning(r *report, h holder) {
	said, err := r.health()
	refused, isRefusal := errors.AsType[*client.Error](err)
	where := client.Local(r.cfg).Where()
	switch {
	case isRefusal:
		r.problem("gateway_refuses", fmt.Sprintf("The gateway (pid %d) refuses to answer %s: %s", h.PID, where, refused.Text),
			"Commands do not reach it.", "bareclaw logs")
		return
	case errors.Is(err, client.ErrUnreachable):
		r.problem("socket_dead", fmt.Sprintf("The gateway (pid %d) runs, and nobody answers %s.", h.PID, where),
			"Commands, and claude's own calls, do not reach it: the socket was removed, or BARECLAW_RUNTIME_DIR is another one now.",
			fmt.Sprintf("`kill -HUP %d`, which restarts it without losing anything", h.PID))
		return
	case err != nil:
		r.problem("gateway_hangs", fmt.Sprintf("The gateway (pid %d) does not report its health: %v.", h.PID, err), "It may accept no messages, or answer none.",
			fmt.Sprintf("`kill -HUP %d`; if that changes nothing, `bareclaw stop --now`, and start it: nothing is lost", h.PID))
		return
	case said.Version != r.Version:
		r.warning("version_differs", fmt.Sprintf("The gateway (pid %d) runs version %s, and this program is %s.", h.PID, said.Version, r.Version),
			"What was changed since is not in effect.", "bareclaw restart")
	default:
		r.ok("The gateway (pid %d) runs version %s.", h.PID, said.Version)
	}
	if said.Status == api.StatusStarting || said.Status == api.StatusDraining {
		r.note("gateway_busy", "The gateway is "+said.Status+".", "It accepts nothing until that is over.", "")
	}
	told := slices.Concat(r.mountProblems(), r.observerProblems())
	for _, p := range said.Problems {
		if slices.Contains(told, p) { // by the checks of these
			continue
		}
		r.problem("gateway_unwell", p, "The gateway says so itself; it works as well as it can.", "bareclaw logs")
	}
	if failed := said.FailedRestart; failed != nil {
		r.note("restart_failed", "The last restart failed, at "+failed.At.Local().Format(time.DateTime)+": "+failed.Error,
			"The gateway went on as it was: what was to change has not changed.", "bareclaw restart")
	}
}

// overTCP requests the gateway's health with the token over TCP, as another program
// would.
func overTCP(ctx context.Context, r *report) {
	ctx, cancel := context.WithTimeout(ctx, healthBound)
	defer cancel()
	c := client.Direct(r.cfg)
	err := c.Do(ctx, http.MethodGet, api.PathHealth, nil, nil)
	refused, isRefusal := errors.AsType[*client.Error](err)
	apart, isApart := errors.AsType[*config.Problem](err)
	switch {
	case isApart:
		r.problem("token_apart", apart.Source+": "+apart.Problem+".", "Commands that need the token are refused, such as answers to permission requests.",
			"put both settings into one file")
	case err == nil:
		r.ok("It answers over its socket and %s.", c.Where())
	case isRefusal && refused.Status == http.StatusUnauthorized:
		r.problem("token_refused", "The gateway refuses the configured token (BARECLAW_HTTP_TOKEN).",
			"It was started with another one; clients with the new one are refused.", "bareclaw restart")
	case isRefusal:
		r.problem("gateway_refuses", "The gateway refuses to answer "+c.Where()+": "+refused.Text, "Clients do not reach it.", "bareclaw logs")
	default:
		r.problem("tcp_dead", fmt.Sprintf("The gateway does not answer %s: %v.", c.Where(), err), "Clients do not reach it.", "bareclaw restart")
	}
}

const (
	// dialBound is the time limit for a program on the machine to accept a connection.
	dialBound = 2 * time.Second

	setToken = "set BARECLAW_HTTP_TOKEN, as by `openssl rand -hex 32`"
)

// checkAddress checks whether the gateway has its configured address, or could listen
// there. The check listens on another port of the host, and only connects to the configured
// port, because listening for a moment could make a start fail.
func checkAddress(ctx context.Context, r *report) {
	if r.Report.Wrong("BARECLAW_PORT") || r.Report.Wrong("BARECLAW_HOST") {
		return
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(string(r.cfg.HTTP.Host), "0"))
	if err != nil {
		r.problem("address_foreign", fmt.Sprintf("%s (BARECLAW_HOST) is not an address of this machine: %v.", r.cfg.HTTP.Host, err),
			"The gateway cannot listen there, and does not start.", "set BARECLAW_HOST to 127.0.0.1, or to another address of this machine")
		return
	}
	defer func() { _ = l.Close() }()
	address := r.cfg.HTTP.Address()
	switch h := r.holder(); {
	case h.alive && sameAddress(h.Address, l.Addr().String(), int(r.cfg.HTTP.Port)):
		r.ok("The gateway (pid %d) listens on %s.", h.PID, h.Address)
	case h.alive:
		r.warning("address_changed", fmt.Sprintf("The gateway (pid %d) listens on %s, not on %s as is configured.", h.PID, h.Address, address),
			"It was started with other settings.", "bareclaw restart")
	case r.cfg.HTTP.Port == 0:
		r.ok("A free port will be picked.")
	default:
		tryAddress(ctx, r, address)
	}
}

func tryAddress(ctx context.Context, r *report, address string) {
	port := int(r.cfg.HTTP.Port)
	who := listener(port)
	if strings.HasPrefix(who, "systemd ") { // a connection would start the gateway
		r.ok("systemd listens on port %d, and starts the gateway with the first connection.", port)
		return
	}
	if refuses(ctx, address) {
		r.ok("Port %d is free.", port)
		return
	}
	r.problem("port_taken", fmt.Sprintf("Port %d is used by %s.", port, cmp.Or(who, "another program")), "The gateway does not start while it is.",
		"stop that program, or set BARECLAW_PORT to another port")
}

// refuses reports whether the system refuses a connection: nobody listens.
func refuses(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, dialBound)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err == nil {
		_ = c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// sameAddress reports whether an address has the host of another one, and the port unless 0.
func sameAddress(have, host string, port int) bool {
	h, err := netip.ParseAddrPort(have)
	want, _ := netip.ParseAddrPort(host) // of a listener
	return err == nil && (port == 0 || int(h.Port()) == port) &&
		(h.Addr() == want.Addr() || h.Addr().IsUnspecified() && want.Addr().IsUnspecified())
}

func checkExposure(_ context.Context, r *report) {
	if r.Report.Wrong("BARECLAW_HOST") || r.Report.Wrong("BARECLAW_HTTP_TOKEN") {
		return // checkConfiguration reports a reachable host without a token
	}
	guarded := r.cfg.HTTP.Token.IsSet()
	if !config.IsLoopback(string(r.cfg.HTTP.Host)) {
		r.warning("exposed", "The gateway listens on "+string(r.cfg.HTTP.Host)+", which others can reach.",
			"HTTP is not encrypted: who can listen on the way reads the token, and whoever has it runs commands as this user.",
			"set BARECLAW_HOST=127.0.0.1 and put a reverse proxy with TLS before it")
	}
	if !guarded && !r.tellsPeers {
		r.warning("peer_unknown", "Other users of this machine can command the gateway.",
			"This system does not tell which user is at the other end of a TCP connection.", setToken)
	}
	if len(r.found) == 0 {
		by := "only this user's programs are listened to"
		if guarded {
			by = "with the token only"
		}
		r.ok("The gateway is for this machine, %s.", by)
	}
}

func checkSessions(_ context.Context, r *report) {
	if r.cfg.StateDir() == "" {
		return
	}
	i, err := sessionhost.Inspect(r.cfg.StateDir())
	if err != nil {
		r.problem("sessions_unknown", err.Error()+".", "It is not known whether processes of sessions were left behind.", "")
		return
	}
	for _, file := range i.Unread {
		r.warning("record_unreadable", file+" cannot be understood.",
			"It names a session host, which the gateway does not find without it.", "`rm "+quote(file)+"`, after the processes that it names have ended")
	}
	left := slices.Clone(i.Strays) // processes of sessions without a host
	for _, lost := range i.Lost {
		left = append(left, lost.Claude())
	}
	if len(left) > 0 {
		r.warning("orphans", fmt.Sprintf("%d processes are left of sessions whose host has ended: %s.", len(left), pids(left)),
			"They use memory, and nobody sees their work. The gateway ends them when it starts.", "bareclaw doctor --fix").by(i.End)
	}
	if len(r.found) == 0 {
		r.ok("Session hosts alive: %d; nothing is left of others.", len(i.Live))
	}
}

func pids(all []proc.Process) string {
	const enough = 10
	var names []string
	for _, p := range all[:min(len(all), enough)] {
		names = append(names, strconv.Itoa(p.PID))
	}
	if len(all) > enough {
		names = append(names, "…")
	}
	return "pid " + strings.Join(names, ", ")
}
