package daemon

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"bareclaw/adapters/httpapi"
	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/metrics"
	"bareclaw/adapters/kinds"
	"bareclaw/core/config"
	"bareclaw/core/schedule"
	"bareclaw/core/tools"
	"bareclaw/core/tools/gateway"
	"bareclaw/internal/buildinfo"
	"bareclaw/internal/toolset"
	"bareclaw/mcp"
	"bareclaw/sessionhost"
	"bareclaw/sessionhost/claude"
	"bareclaw/toolhost"
)

// A toolsPart is the gateway's tools, and the server through which sessions and clients call
// them.
type toolsPart struct {
	*base
	registry *tools.Registry
	server   *mcp.Server
	calls    *metrics.Histogram

	// Set by fill.
	keeper *toolhost.Keeper
	hosts  *sessionhost.Hosts
}

// newTools makes the registry without tools, and its server.
func newTools(b *base) *toolsPart {
	t := &toolsPart{base: b, registry: tools.NewRegistry(b.log)}
	t.calls = metrics.NewHistogram("bareclaw_tool_call_duration_seconds", "Duration of calls of the gateway's tools since start, by source and outcome.", "source", "outcome")
	t.registry.OnCall(func(e tools.CallEnd) { t.calls.Observe(e.Took, string(e.Source), string(e.Outcome)) })
	t.server = mcp.New(t.registry, buildinfo.Version(), b.log)
	return t
}

// part returns the part, after fill.
func (t *toolsPart) part() part {
	return part{name: "tools", health: t.health, metrics: t.metrics, mounts: []httpapi.Mount{
		{Routes: api.MCPRoutes(), Handler: t.server.Handler(), IsStream: mcp.IsStream},
		{Routes: api.ToolHostRoutes(), Handler: t.keeper.Handler(), Strip: api.PathToolHost},
	}}
}

// answersPath returns the path of the file with the answers of session hosts.
func (t *toolsPart) answersPath() string { return filepath.Join(t.cfg.RuntimeDir, "tools.json") }

// answers returns the answers of session hosts for a set of tools.
func (t *toolsPart) answers(set string) map[string]json.RawMessage {
	return t.server.Answers(toolset.Set(set))
}

// fill adds the gateway's own tools. If an earlier process has left no tools.json, fill publishes
// them to session hosts, so that a recovered host can answer claude at once.
func (t *toolsPart) fill(e *engine, scheduler *schedule.Scheduler, restart func(context.Context, <-chan struct{}) error) error {
	m := e.manager
	t.hosts = e.hosts
	t.keeper = toolhost.New(toolhost.Options{
		Self: t.self, ToolsDir: t.cfg.ToolsDir, KeepSnapshots: t.cfg.SnapshotsKeep,
		Grants: grants(t.cfg.ToolGrants), Withheld: t.cfg.OwnDirs(), Registry: t.registry, Log: t.log,
	})
	t.registry.Restrict(m.ChannelSettings)
	t.registry.RecordCalls(m.Adapters)
	t.registry.ExpectMore(t.keeper.AwaitTools)
	own := slices.Concat(tools.Dispatchers(t.registry), gateway.Tools(gateway.Options{
		Channels: m.Directory, Submit: m.Submit, Messages: m.Lookup, Turns: e.ledger, Push: &t.push, Schedules: scheduler, Restart: restart,
		Places: kinds.Places(), Inert: claude.Inert, RestartBuilds: t.restartBuilds(),
	}), t.keeper.Management())
	if err := t.registry.Set(tools.Gateway, own); err != nil {
		return err
	}
	if _, err := os.Stat(t.answersPath()); err != nil {
		t.server.Offer()
		_ = t.publish() // follow publishes again when all tools are known
	}
	return nil
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
		t.keeper.Run(ctx)
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

// publish gives the session hosts their answers.
func (t *toolsPart) publish() error {
	err := t.hosts.OfferTools()
	if err != nil {
		t.log.Error("sessions do not hear of changed tools", "err", err)
	}
	return err
}

func (t *toolsPart) health(h *api.Health) {
	now, count := t.keeper.Status(), t.registry.Count()
	h.Tools = &api.Tools{
		Gateway: count[tools.Gateway], Builtin: count[tools.Builtin], Dynamic: count[tools.Dynamic],
		Host: api.ToolRunner{Status: now.Status, PID: now.PID, Restarts: now.RestartCount, Healthy: now.Healthy, Problem: now.Problem},
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
}

func (t *toolsPart) metrics(w *metrics.Writer) {
	now, count := t.keeper.Status(), t.registry.Count()
	for _, source := range []tools.Source{tools.Builtin, tools.Dynamic, tools.Gateway} {
		w.Gauge("bareclaw_tools", "Tools by source.", float64(count[source]), "source", string(source))
	}
	t.calls.WriteTo(w)
	w.Gauge("bareclaw_tool_host_up", "1 while the process that runs tools answers.", map[bool]float64{true: 1}[now.Healthy])
	w.Counter("bareclaw_tool_host_crashes_total", "Crashes of the process that runs tools, since start.", float64(now.Crashes))
	if now.Health != nil {
		w.Gauge("bareclaw_tool_host_heap_bytes", "Heap of the process that runs tools; left out while it does not answer.", float64(now.Health.MemoryUsage.HeapUsed))
	}
}

// warnOfUnknown warns of each name in BARECLAW_TOOLS that no tool has.
func (t *toolsPart) warnOfUnknown() {
	for name := range t.cfg.Tools.Names() {
		if _, ok := t.registry.Find(name); !ok {
			t.log.Warn("configuration", "problem", "BARECLAW_TOOLS names "+name+", but there is no such tool; sessions may use it once it is made")
		}
	}
}
