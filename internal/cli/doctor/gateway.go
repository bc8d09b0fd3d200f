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

func checkGateway(ctx context.Context, l *look) []Finding {
	h := l.holder()
	stoppedAt, stopped := statemark.StoppedAt(l.cfg.StateDir)
	switch {
	case !h.alive && stopped:
		return []Finding{warning("gateway_down", "The gateway was stopped by you at "+stoppedAt.Local().Format(time.DateTime)+", and stays down until you start it.",
			"Nothing is accepted.", l.startGateway())}
	case !h.alive && h.known && !h.Ended:
		return []Finding{problem("gateway_died", fmt.Sprintf("The gateway (pid %d, since %s) has ended without being told to, and is not running.",
			h.PID, h.StartedAt.Format(time.DateTime)), "Nothing is accepted. What was accepted is answered after the next start.",
			l.startGateway()+"; `bareclaw logs` says why it ended")}
	case !h.alive:
		return []Finding{warning("gateway_down", "The gateway is not running.", "Nothing is accepted.", l.startGateway())}
	}
	said, err := l.health()
	if err != nil {
		return append([]Finding{silent(h, err, client.Local(l.cfg).Where())}, overTCP(ctx, l)...)
	}
	found := []Finding{ok("The gateway (pid %d) runs version %s.", said.PID, said.Version)}
	if said.Version != l.Version {
		found[0] = warning("version_differs", fmt.Sprintf("The gateway (pid %d) runs version %s, and this program is %s.", said.PID, said.Version, l.Version),
			"What was changed since is not in effect.", "bareclaw restart")
	}
	return append(append(found, wellbeing(said)...), overTCP(ctx, l)...)
}

// wellbeing reports the gateway's own health.
func wellbeing(h api.Health) []Finding {
	var found []Finding
	if h.Status == api.StatusStarting || h.Status == api.StatusDraining {
		found = append(found, note("gateway_busy", "The gateway is "+h.Status+".", "It accepts nothing until that is over.", ""))
	}
	for _, p := range h.Problems {
		if h.Telegram != nil && p == h.Telegram.Problem {
			continue // checkTelegram reports the problem
		}
		found = append(found, problem("gateway_unwell", p, "The gateway says so itself; it works as well as it can.", "bareclaw logs"))
	}
	return found
}

// silent explains a gateway that does not answer on its socket.
func silent(h holder, err error, where string) Finding {
	refused, isRefusal := errors.AsType[*client.Error](err)
	switch {
	case isRefusal:
		return problem("gateway_refuses", fmt.Sprintf("The gateway (pid %d) refuses to answer %s: %s", h.PID, where, refused.Text),
			"Commands do not reach it.", "bareclaw logs")
	case errors.Is(err, client.ErrUnreachable):
		return problem("socket_dead", fmt.Sprintf("The gateway (pid %d) runs, and nobody answers %s.", h.PID, where),
			"Commands, and claude's own calls, do not reach it: the socket was removed, or BARECLAW_RUNTIME_DIR is another one now.",
			fmt.Sprintf("`kill -HUP %d`, which restarts it without losing anything", h.PID))
	}
	return problem("gateway_hangs", fmt.Sprintf("The gateway (pid %d) does not say how it does: %v.", h.PID, err),
		"It may accept nothing, or nothing gets done.", fmt.Sprintf("`kill -HUP %d`; if that changes nothing, `bareclaw stop --now`, and start it: nothing is lost", h.PID))
}

// overTCP requests the gateway's health with the token over TCP, as another program
// would.
func overTCP(ctx context.Context, l *look) []Finding {
	ctx, cancel := context.WithTimeout(ctx, healthBound)
	defer cancel()
	c := client.Direct(l.cfg)
	err := c.Do(ctx, http.MethodGet, api.PathHealth, nil, nil)
	refused, isRefusal := errors.AsType[*client.Error](err)
	switch {
	case err == nil:
		return []Finding{ok("It answers over its socket and %s.", c.Where())}
	case isRefusal && refused.Status == http.StatusUnauthorized:
		return []Finding{problem("token_refused", "The gateway refuses the configured token (BARECLAW_HTTP_TOKEN).",
			"It was started with another one; clients with the new one are refused.", "bareclaw restart")}
	case isRefusal:
		return []Finding{problem("gateway_refuses", "The gateway refuses to answer "+c.Where()+": "+refused.Text, "Clients do not reach it.", "bareclaw logs")}
	}
	return []Finding{problem("tcp_dead", fmt.Sprintf("The gateway does not answer %s: %v.", c.Where(), err), "Clients do not reach it.", "bareclaw restart")}
}
