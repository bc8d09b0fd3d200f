// Package observe has the commands that observe web apps.
package observe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/term"
	"bareclaw/observe/discovery"
)

// Commands are the commands about observers.
type Commands struct {
	Run  Run  `cmd:"" default:"withargs" help:"Observe a web app: start it, pass requests on to it, and say what is wrong."`
	List List `cmd:"" help:"List the observed apps."`
	Stop Stop `cmd:"" help:"End an observer, and the app that it has started."`
}

// A place is what commands about observers work with.
type place struct {
	dir     string // this one, without symbolic links
	records discovery.Records
	gateway *client.Client
	port    int    // of the gateway; 0: unknown
	channel string // that is told if nothing else is said; empty: none
}

// find returns the place: a session, which does not see the configuration, asks the gateway.
func find(c *command.Context) (*place, error) {
	dir, err := filepath.EvalSymlinks(c.Dir)
	if err != nil || c.Dir == "" {
		return nil, errors.New("the present directory cannot be found, which is that of the app: enter it anew")
	}
	p, err := findGateway(c)
	if err != nil {
		return nil, err
	}
	p.dir = dir
	return p, nil
}

func findGateway(c *command.Context) (*place, error) {
	if command.InSession() {
		return ask(c)
	}
	cfg, err := c.Config()
	if err != nil {
		return nil, err
	}
	return &place{
		records: discovery.RecordsOf(cfg.StateDir()),
		gateway: client.Local(cfg),
		port:    int(cfg.HTTP.Port),
		channel: string(cfg.Observe.Notify),
	}, nil
}

// ask asks the gateway of this session.
func ask(c *command.Context) (*place, error) {
	p := &place{gateway: client.Inherited()}
	var known api.Observers
	if err := c.Get(p.gateway, api.PathObservers, &known); err != nil {
		return nil, fmt.Errorf("ask the gateway about observers: %w", err)
	}
	p.records = discovery.Records(known.Directory)
	p.channel = known.Notify
	p.port = known.Port
	own, err := command.OwnChannel(c, p.gateway)
	if err != nil {
		return nil, fmt.Errorf("find the channel of this session: %w", err)
	}
	if own != "" {
		p.channel = own
	}
	return p, nil
}

// refused says why a port must not be observed; empty: it may be.
func (p *place) refused(port int) string {
	if port == p.port {
		return "this is the gateway itself"
	}
	all, _ := p.records.Live() // those that can be read
	for i := range all {
		r := &all[i]
		if r.Port == port || strings.HasSuffix(r.Proxy, ":"+strconv.Itoa(port)) {
			return "this is the observer of " + r.Dir
		}
	}
	return ""
}

// askTime is how long the gateway may take to say who can be told.
const askTime = 2 * time.Second

// unheard says that the gateway knows of nobody behind a channel, and how to choose another one; empty: there may be somebody,
// whom a gateway that is away may know when it is back.
func (p *place) unheard(c *command.Context, channel string) string {
	if channel == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(c.Context, askTime)
	defer cancel()
	var known api.Observers
	if err := p.gateway.Do(ctx, http.MethodGet, api.PathObservers, nil, &known); err != nil || known.Prefixes == nil {
		return ""
	}
	if slices.ContainsFunc(known.Prefixes, func(prefix string) bool { return strings.HasPrefix(channel, prefix) }) {
		return ""
	}
	how := "No adapter is set up that could tell people: `bareclaw init` sets one up."
	if len(known.Prefixes) > 0 {
		how = "Name a channel that begins with " + strings.Join(known.Prefixes, " or ") + ", with --channel or in BARECLAW_OBSERVE_NOTIFY."
	}
	return fmt.Sprintf("Nobody is behind the channel %s, and so nobody is told what is found. %s The tool get_findings shows it.", term.SafeLine(channel), term.SafeLine(how))
}
