package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"bareclaw/adapters/httpapi"
	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/metrics"
	"bareclaw/adapters/kinds"
	"bareclaw/core"
	"bareclaw/core/commands"
	"bareclaw/core/config"
	"bareclaw/core/schedule"
	"bareclaw/core/settings"
	"bareclaw/core/tools"
	"bareclaw/core/tools/gateway"
	"bareclaw/core/tools/intent"
	"bareclaw/internal/buildinfo"
	"bareclaw/mcp"
	"bareclaw/mcp/mounts"
	observetools "bareclaw/observe/tools"
	"bareclaw/sessionhost"
	"bareclaw/sessionhost/claude"
	"bareclaw/toolhost"
)

// A toolsPart is the gateway's tools, and the server through which sessions and clients call
// them.
type toolsPart struct {
	*base
	keeper   *toolhost.Keeper
	mounts   *mounts.Mounts
	registry *tools.Registry
	server   *mcp.Server
	bags     *mcp.Bags
	hosts    *sessionhost.Hosts // whose sessions hear of changed tools
	calls    *prometheus.HistogramVec
}

// newTools makes the registry of all sources of tools, and its server. A source is a row here.
func newTools(e *engine, scheduler *schedule.Scheduler, table *commands.Table, watched *observersPart, restart func(context.Context, <-chan struct{}) error) (*toolsPart, error) {
	t := &toolsPart{base: e.base, hosts: e.hosts}
	t.keeper = toolhost.New(toolhost.Options{
		Self:          t.self,
		ToolsDir:      t.cfg.ToolsDir(),
		KeepSnapshots: int(t.cfg.Claude.Tools.SnapshotsKeep),
		Grants:        grants(t.cfg.Claude.Tools.Grants),
		Withheld:      t.cfg.OwnDirs(),
		Log:           t.log,
	})
	sources := []tools.Source{
		tools.Dispatchers(),
		intent.Source(),
		gateway.Source(gateway.Options{
			Channels:      e.manager.Directory,
			Submit:        e.manager.Submit,
			Messages:      e.manager.Lookup,
			Push:          &t.push,
			Places:        kinds.Places(t.cfg),
			Schedules:     scheduler,
			Inert:         claude.Inert,
			Restart:       restart,
			RestartBuilds: t.restartBuilds(),
		}),
		observetools.Source(watched.toolOptions()),
	}
	sources = append(sources, t.keeper.Sources()...)
	t.mounts = mounts.New(mounts.Options{
		Path:     filepath.Join(t.cfg.ConfigDir, mounts.FileName),
		StateDir: t.cfg.StateDir(),
		Dir:      string(t.cfg.Files.CWD),
		Idle:     time.Duration(t.cfg.Claude.Tools.MountIdle),
		Reserved: toolhost.BuiltinNames(),
		Life:     t.life,
		Records:  e.manager.Adapters,
		Log:      t.log,
		Gateway:  mounts.Gateway{Host: string(t.cfg.HTTP.Host), Port: int(t.cfg.HTTP.Port)},
	})
	sources = append(sources, t.mounts)
	t.calls = metrics.NewHistogram("bareclaw_tool_call_duration_seconds", "Duration of calls of the gateway's tools since start, by source, mounted server and outcome.", "source", "mount", "outcome")
	mounted := make(chan struct{})
	news := &toolNews{
		feeds:  e.manager.Feeds,
		loaded: map[string]<-chan struct{}{mounts.SourceName: mounted},
	}
	for _, source := range t.keeper.Sources() {
		news.loaded[source.Name()] = t.keeper.Loaded()
	}
	var err error
	t.registry, err = tools.NewRegistry(tools.Options{
		Log:       t.log,
		Sources:   sources,
		Policy:    toolPolicy{e.manager.ChannelSettings},
		Asker:     e.manager.Decider,
		AskPeople: "set BARECLAW_APPROVALS=ask, `bareclaw restart`, and decide with `bareclaw approvals`",
		Records:   e.manager.Adapters,
		Bags:      t.mounts.Bags,
		Ended: func(c tools.CallEnd) {
			t.calls.WithLabelValues(c.Source, c.Mount, string(c.Outcome)).Observe(c.Took.Seconds())
		},
		Changed: news.publish,
	})
	if err != nil {
		return nil, fmt.Errorf("make the tools: %w", err)
	}
	t.mounts.Load(t.life)
	close(mounted)
	served := mcp.Options{
		Registry: t.registry,
		Name:     mcp.Name,
		Version:  buildinfo.Version(),
		Log:      t.log,
	}
	t.bags = mcp.NewBags(served) // without prompts: a bag is of tools alone
	served.Commands = table
	t.server = mcp.New(served)
	return t, nil
}

// A toolPolicy is what channels' settings say of tools.
type toolPolicy struct{ *settings.Cache }

// View implements [tools.Policy].
func (p toolPolicy) View(channel core.ChannelKey) tools.View { return tools.ViewOf(p.Tools(channel)) }

func (t *toolsPart) part() part {
	return part{
		name:    "tools",
		health:  t.health,
		metrics: []prometheus.Collector{t.calls, metrics.Func(t.writeMetrics)},
		mounts: []httpapi.Mount{
			{Routes: api.MCPRoutes(), Handler: t.server.Handler(), IsStream: mcp.IsStream},
			{Routes: api.BagRoutes(), Handler: t.bags, Strip: api.PathBags, IsStream: mcp.IsStream},
			{Routes: api.ToolHostRoutes(), Handler: t.keeper.Handler(t.registry), Strip: api.PathToolHost},
		},
		commands: []commands.Command{
			commands.ToolsCommand(t.registry),
			commands.MountsCommand(mountedServers{t.mounts}),
		},
	}
}

func grants(all []config.ToolGrant) (g toolhost.Grants) {
	for _, grant := range all {
		if grant.Host != "" {
			g.Hosts = append(g.Hosts, grant.Host)
		} else {
			g.Dirs = append(g.Dirs, toolhost.Directory{Path: grant.Dir, ReadOnly: grant.ReadOnly})
		}
	}
	return g
}

// run keeps the tool host running until ctx ends, once the gateway serves: the tool host must not
// delay the gateway's start.
func (t *toolsPart) run(ctx context.Context, serves <-chan struct{}) {
	select {
	case <-serves:
		t.keeper.Run(ctx, t.registry)
	case <-ctx.Done():
	}
}

// runMounts follows the file of mounted servers until ctx ends, once the gateway serves.
func (t *toolsPart) runMounts(ctx context.Context, serves <-chan struct{}) {
	select {
	case <-serves:
		t.mounts.Run(ctx)
	case <-ctx.Done():
	}
}

// follow offers changed tools to sessions, from the moment that the tools are known until ctx
// ends: a restart of the gateway must not take tools away for a moment.
func (t *toolsPart) follow(ctx context.Context) {
	select {
	case <-t.keeper.Settled():
		t.warnOfUnknown()
		t.server.Follow(ctx, t.publish)
	case <-ctx.Done():
	}
}

// publish offers the tools to clients of bags, and gives the session hosts their answers.
func (t *toolsPart) publish() error {
	t.bags.Offer()
	err := t.hosts.OfferTools()
	if err != nil {
		t.log.Error("sessions do not hear of changed tools", "err", err)
	}
	return err
}

func (t *toolsPart) health(h *api.Health) {
	now := t.keeper.Status()
	h.Tools = api.NewTools(t.registry.Count())
	h.Tools.Host = api.ToolRunner{
		Status:   now.Status,
		PID:      now.PID,
		Restarts: now.RestartCount,
		Healthy:  now.Healthy,
		Problem:  now.Problem,
	}
	if now.StartedAt != nil {
		h.Tools.Host.StartedAt = now.StartedAt.Time
	}
	if last := now.Health; last != nil {
		h.Tools.Host.HeapUsed = last.MemoryUsage.HeapUsed
		if last.LastError != nil {
			h.Tools.Host.LastError = *last.LastError
		}
	}
	h.Problems = append(h.Problems, now.Problems()...)
	h.Problems = append(h.Problems, mountProblems(t.mounts)...)
	for _, clash := range t.registry.Clashes() {
		h.Problems = append(h.Problems, "Two tools have one name: "+clash.String()+".")
	}
}

// writeMetrics writes how many tools there are, how their process does, and how the mounted servers do.
func (t *toolsPart) writeMetrics(w *metrics.Writer) {
	now := t.keeper.Status()
	for source, count := range t.registry.Count() {
		w.Gauge("bareclaw_tools", "Tools by source.", float64(count), "source", source)
	}
	w.Gauge("bareclaw_tool_host_up", "1 while the process that runs tools answers.", map[bool]float64{true: 1}[now.Healthy])
	w.Counter("bareclaw_tool_host_crashes_total", "Crashes of the process that runs tools, since start.", float64(now.Crashes))
	if now.Health != nil {
		w.Gauge("bareclaw_tool_host_heap_bytes", "Heap of the process that runs tools; left out while it does not answer.", float64(now.Health.MemoryUsage.HeapUsed))
	}
	mounted, _ := t.mounts.Status()
	for i := range mounted {
		writeMount(w, &mounted[i])
	}
}

// writeMount writes how a mounted server does.
func writeMount(w *metrics.Writer, s *mounts.Status) {
	w.Gauge("bareclaw_mount_tools", "Tools that are offered, by mounted server.", float64(s.Tools), "mount", s.Name)
	w.Gauge("bareclaw_mount_instances", "Processes and connections that are open, by mounted server.", float64(len(s.Instances)), "mount", s.Name)
	w.Counter("bareclaw_mount_starts_total", "Starts since the gateway's start, by mounted server.", float64(s.Starts), "mount", s.Name)
	w.Counter("bareclaw_mount_failures_total", "Starts that failed and calls without an answer since the gateway's start, by mounted server.", float64(s.Failures), "mount", s.Name)
}

// warnOfUnknown warns of each name in BARECLAW_TOOLS that no tool has.
func (t *toolsPart) warnOfUnknown() {
	for name := range t.cfg.Claude.Tools.Set.Names() {
		if _, ok := t.registry.Find(name); !ok {
			t.log.Warn("configuration", "problem", "BARECLAW_TOOLS names "+name+", but there is no such tool; sessions may use it once it is made")
		}
	}
}
