package daemon

import (
	"context"
	"encoding/json"
	"path/filepath"

	"bareclaw/core/tools"
	"bareclaw/core/tools/gateway"
	"bareclaw/internal/buildinfo"
	"bareclaw/mcp"
)

// A toolsPart is the gateway's tools, and the server through which sessions and clients call
// them.
type toolsPart struct {
	*base
	engine   *engine
	registry *tools.Registry
	server   *mcp.Server
}

// start makes the registry, before the engine starts.
func (t *toolsPart) start() error {
	t.registry = tools.NewRegistry(t.log, t.cfg.OffersTool)
	t.server = mcp.New(t.registry, buildinfo.Version(), t.log)
	t.engine.tools, t.engine.toolServer = t.server, filepath.Join(t.cfg.RuntimeDir, "tools.json")
	return nil
}

// fill adds the tools that need the engine, and offers all tools to sessions: a session host
// that the engine recovers answers claude at once.
func (t *toolsPart) fill() error {
	if err := t.registry.Set(tools.Gateway, append(tools.Dispatchers(t.registry), gateway.Tools(t.engine.manager.Directory)...)); err != nil {
		return err
	}
	t.warnOfUnknown()
	t.publish(t.server.Offer())
	return nil
}

// follow offers changed tools to sessions, until ctx ends.
func (t *toolsPart) follow(ctx context.Context) { t.server.Follow(ctx, t.publish) }

// publish gives the session hosts their answers.
func (t *toolsPart) publish(answers map[string]json.RawMessage) {
	if err := t.engine.hosts.SetToolAnswers(answers); err != nil {
		t.log.Error("sessions do not hear of changed tools", "err", err)
	}
}

// warnOfUnknown warns of each name in BARECLAW_TOOLS that no tool has.
func (t *toolsPart) warnOfUnknown() {
	for _, name := range t.cfg.NamedTools() {
		if _, ok := t.registry.Find(name); !ok {
			t.log.Warn("configuration", "problem", "BARECLAW_TOOLS names "+name+", but there is no such tool; sessions may use it once it is made")
		}
	}
}
