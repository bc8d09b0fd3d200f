package setup

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bareclaw/core/config"
	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/statemark"
	"bareclaw/internal/steps"
	"bareclaw/internal/term"
	"bareclaw/internal/zone"
)

// Words that --http-token and its question take besides a token.
const (
	Generate = "generate"
	None     = "none"
)

func chooseSettings(ctx context.Context, w *wizard) (steps.Outcome, error) {
	var failed steps.Outcome
	for _, choose := range []func(context.Context, *wizard) error{choosePort, chooseToken, chooseDirectory, chooseZone} {
		err := choose(ctx, w)
		switch {
		case errors.Is(err, steps.ErrSkipped):
			return steps.Skipped("the rest stays as it is"), nil
		case errors.Is(err, errEnd) || ctx.Err() != nil:
			return steps.Outcome{}, err
		case err != nil:
			o := failure(err)
			failed = steps.Trouble(join(failed.Detail, o.Detail), join(failed.Next, o.Next))
		}
	}
	if failed.State != "" {
		return steps.Outcome{}, failed
	}
	token := "no token, so that only your own user is answered"
	if w.current(varHTTP) != "" {
		token = "a token for TCP"
	}
	if names := w.shadowed(); len(names) > 0 {
		w.note("Note: .env in this directory sets %s otherwise, and wins for a gateway that is started here.", strings.Join(names, ", "))
	}
	chosen := fmt.Sprintf("port %s, %s, working in %s, times of %s",
		term.SafeLine(w.port()), token, term.SafeLine(cmp.Or(w.current(varCWD), "~")), term.SafeLine(cmp.Or(w.current(varZone), machineZone())))
	return steps.DoneIf(slices.ContainsFunc([]string{varPort, varHTTP, varCWD, varZone}, func(v string) bool { return w.current(v) != w.set(v) }), chosen), nil
}

func join(a, b string) string { return strings.Trim(a+"; "+b, "; ") }

func choosePort(ctx context.Context, w *wizard) error {
	w.portTaken = false
	byDefault := w.port()
	if w.asks() && !w.given(varPort) && checkPort(w, byDefault) != nil {
		w.note("Port %s is in use by another program.", term.SafeLine(byDefault))
		byDefault = freePort(w.host(), byDefault)
	}
	q := steps.Question{
		Text: "Port",
		Has:  byDefault,
		Help: "The TCP port of the HTTP API on " + w.host() + ". 0 picks a free one at each start.",
	}
	return w.settle(ctx, varPort, q, byDefault, func(port string) error {
		if err := config.Check(varPort, port); err != nil {
			return err
		}
		if err := checkPort(w, port); err != nil {
			w.portTaken = true
			return err
		}
		w.portTaken = false
		return w.choose(varPort, port)
	})
}

func chooseToken(ctx context.Context, w *wizard) error {
	byDefault, has := w.current(varHTTP), "keep the one that is set"
	switch {
	case byDefault != "":
	case w.fresh && w.asks():
		byDefault, has = Generate, "make one"
	default:
		has = "none: only programs of your own user are answered"
	}
	if w.current(varHTTP) == "" && w.asks() && !w.given(varHTTP) {
		w.note("A token keeps out what reaches the gateway through programs of yours: web pages, reverse proxies, forwarded ports. " +
			"`bareclaw` finds it by itself; curl and other programs have to send it.")
	}
	q := steps.Question{
		Text:   "Token that requests over TCP must carry: g makes one, none is none, or type it",
		Has:    has,
		Secret: true,
		Help: "Without one the gateway listens on this machine alone and answers every program of your own user, also one that passes on the requests of others: " +
			"a reverse proxy, ssh -L, the port forwarding of an editor. The token is kept in the file of the settings; " +
			"programs send it as \"Authorization: Bearer TOKEN\". none takes away the one that is set.",
	}
	return w.settle(ctx, varHTTP, q, byDefault, func(token string) error {
		switch strings.ToLower(token) {
		case "y", "yes", "n", "no":
			return steps.Trouble("this is an answer and no token", "g makes one; Enter takes what is in brackets")
		case "g", Generate:
			token = rand.Text()
			w.note("A token was made; it will be in the file of the settings.")
		case None:
			token = ""
		}
		if token == "" && config.Check(varHost, w.host()) == nil && !config.IsLoopback(w.host()) {
			return steps.Trouble("others can reach "+w.host()+", so a token is needed", "choose one, or g")
		}
		return w.choose(varHTTP, token)
	})
}

func chooseDirectory(ctx context.Context, w *wizard) error {
	if w.asks() && !w.given(varCWD) {
		w.note("In its directory Claude runs hooks and MCP servers of .claude and .mcp.json without asking: choose one whose files you trust.")
	}
	if err := askDirectory(ctx, w); err != nil {
		return err
	}
	found := lookAtProject(w)
	if found.Level == doctor.Warning {
		w.note("%s %s", found.What, found.Why)
		w.advise(found.Command)
	}
	return nil
}

// lookAtProject returns what files of the chosen directory have claude do by themselves.
func lookAtProject(w *wizard) doctor.Finding {
	const sources = "BARECLAW_SETTING_SOURCES"
	dir := cmp.Or(w.current(varCWD), "~")
	if dir == "~" {
		dir += "/"
	}
	dir, err := filepath.Abs(expandHome(dir))
	if err != nil || config.Agent(w.current(varAgent)) == config.AgentEcho {
		return doctor.Finding{} // of a wrong directory the gateway tells
	}
	return doctor.Project(dir, append(slices.Clone(w.environ), sources+"="+w.current(sources)))
}

func askDirectory(ctx context.Context, w *wizard) error {
	byDefault := cmp.Or(w.current(varCWD), "~")
	q := steps.Question{
		Text: "Directory that Claude works in",
		Has:  byDefault,
		Help: "It decides which CLAUDE.md and which project Claude sees. ~ is your home directory.",
	}
	return w.settle(ctx, varCWD, q, byDefault, func(dir string) error {
		err := w.choose(varCWD, dir)
		if err == nil || !w.asks() {
			return err
		}
		path := expandHome(dir)
		if _, statErr := os.Stat(path); !errors.Is(statErr, fs.ErrNotExist) || !strings.HasPrefix(path, "/") {
			return err
		}
		yes, askErr := w.confirm(ctx, term.SafeLine(dir)+" does not exist. Create it?", "It is made readable by you alone.")
		if askErr != nil {
			return askErr
		}
		if !yes {
			return errAnother
		}
		if err := os.MkdirAll(path, 0o700); err != nil {
			return fmt.Errorf("make the directory: %w", err)
		}
		return w.choose(varCWD, dir)
	})
}

// machineZone returns the time zone that counts where none is set.
func machineZone() string { return zone.Name(time.Local, time.Now()) }

func chooseZone(ctx context.Context, w *wizard) error {
	byDefault := cmp.Or(w.current(varZone), machineZone())
	q := steps.Question{
		Text: "Time zone",
		Has:  byDefault,
		Help: "Reminders, schedules and daily budgets go by it, and all times that you see are in it. Give a name such as Europe/Berlin.",
	}
	return w.settle(ctx, varZone, q, byDefault, func(name string) error {
		if name == byDefault && w.current(varZone) == "" {
			return nil // the machine's, also when that changes
		}
		return w.choose(varZone, name)
	})
}

// errAnother has a question asked again of a user who has just declined.
var errAnother = errors.New("another answer is wanted")

// checkPort returns why the gateway could not listen on a port, nil if it could or already
// does.
func checkPort(w *wizard, port string) error {
	address := net.JoinHostPort(w.host(), port)
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l.Close()
	}
	if h, alive, _ := statemark.Gateway(w.stateDir()); alive && h.Address == address {
		return nil
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		free := freePort(w.host(), port)
		next := "choose another with --port " + free + ", or end that program"
		if w.asks() && !w.given(varPort) {
			next = "try " + free
		}
		return steps.Trouble("port "+port+" is in use by another program", next)
	}
	return steps.Trouble(fmt.Sprintf("the gateway could not listen on %s: %v", address, err), "choose another port")
}

func freePort(host, after string) string {
	n, _ := strconv.Atoi(after)
	for port := n + 1; port < min(n+100, 65536); port++ {
		if l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			_ = l.Close()
			return strconv.Itoa(port)
		}
	}
	return "0"
}
