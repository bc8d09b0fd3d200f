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

// newTools makes the registry, before the engine starts.
func (t *toolsPart) start() error {
	t.registry = tools.NewRegistry(t.log, nil)
	t.server = mcp.New(t.registry, buildinfo.Version(), t.log)
	t.engine.tools, t.engine.toolServer = t.server, filepath.Join(t.cfg.RuntimeDir, "tools.json")
	return nil
}

// fill adds the tools that need the engine.
func (t *toolsPart) fill() error {
	return t.registry.Set(tools.Gateway, append(tools.Dispatchers(t.registry), gateway.Tools(t.engine.manager.Directory)...))
}

// publish offers the tools to sessions, until ctx ends.
func (t *toolsPart) publish(ctx context.Context) {
	t.server.Follow(ctx, func(answers map[string]json.RawMessage) {
		if err := t.engine.hosts.SetToolAnswers(answers); err != nil {
			t.log.Error("sessions do not hear of changed tools", "err", err)
		}
	})
}
