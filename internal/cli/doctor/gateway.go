package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/statemark"
)

func checkGateway(ctx context.Context, r *report) {
	h := r.holder()
	stoppedAt, stopped := statemark.StoppedAt(r.cfg.StateDir)
	switch {
	case h.alive:
		checkRunning(r, h)
		overTCP(ctx, r)
	case stopped:
		r.warning("gateway_down", "The gateway was stopped by you at "+stoppedAt.Local().Format(time.DateTime)+", and stays down until you start it.",
			"Nothing is accepted.", r.startGateway())
	case h.known && !h.Ended:
		r.problem("gateway_died", fmt.Sprintf("The gateway (pid %d, since %s) has ended without being told to, and is not running.",
			h.PID, h.StartedAt.Format(time.DateTime)), "Nothing is accepted. What was accepted is answered after the next start.",
			r.startGateway()+"; `bareclaw logs` says why it ended")
	default:
		r.warning("gateway_down", "The gateway is not running.", "Nothing is accepted.", r.startGateway())
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
		r.problem("gateway_hangs", fmt.Sprintf("The gateway (pid %d) does not say how it does: %v.", h.PID, err), "It may accept nothing, or nothing gets done.",
			fmt.Sprintf("`kill -HUP %d`; if that changes nothing, `bareclaw stop --now`, and start it: nothing is lost", h.PID))
		return
	case said.Version != r.Version:
		r.warning("version_differs", fmt.Sprintf("The gateway (pid %d) runs version %s, and this program is %s.", said.PID, said.Version, r.Version),
			"What was changed since is not in effect.", "bareclaw restart")
	default:
		r.ok("The gateway (pid %d) runs version %s.", said.PID, said.Version)
	}
	if said.Status == api.StatusStarting || said.Status == api.StatusDraining {
		r.note("gateway_busy", "The gateway is "+said.Status+".", "It accepts nothing until that is over.", "")
	}
	for _, p := range said.Problems {
		if said.Telegram == nil || p != said.Telegram.Problem { // checkTelegram reports that problem
			r.problem("gateway_unwell", p, "The gateway says so itself; it works as well as it can.", "bareclaw logs")
		}
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
	switch {
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
