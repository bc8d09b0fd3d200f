package mounts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bareclaw/core/tools"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/visible"
)

// maxDescription bounds the description of a tool, in UTF-16 units: claude reads no more.
const maxDescription = 4096

// tools returns the tools of a server as the registry has them, and says of each other one why it is left out.
func (m *mount) tools() (fit []tools.Tool, unfit []string) {
	known := m.listing()
	if m.server.Disabled || !known.isCurrent(m.entry) {
		return nil, nil
	}
	unfit = slices.Clone(known.LeftOut)
	for i := range known.Tools {
		t := m.tool(&known.Tools[i])
		if err := t.Check(); err != nil {
			unfit = append(unfit, fmt.Sprintf("A tool is left out: %s.", mdtext.Brief(err.Error(), maxShown)))
			continue
		}
		fit = append(fit, t)
	}
	return fit, unfit
}

// owner returns the mount whose prefix a name has: of several that with the longest one; nil if none has it.
func owner(all []*mount, name string) (longest *mount) {
	for _, m := range all {
		if prefix := m.server.prefix(); strings.HasPrefix(name, prefix) && (longest == nil || len(prefix) > len(longest.server.prefix())) {
			longest = m
		}
	}
	return longest
}

// tool returns a tool of the server as the registry has it.
func (m *mount) tool(listed *tools.Tool) tools.Tool {
	name := m.server.NameOf(listed.Name)
	hints := listed.Annotations
	hints.Title = mdtext.Brief(hints.Title, maxShown)
	return tools.Tool{
		Name:        name,
		Description: describe(m.server.Name, listed.Description),
		Mount:       m.server.Name,
		Input:       listed.Input,
		Annotations: hints,
		Category:    m.server.CategoryOf(),
		Timeout:     startTimeout + 2*m.server.CallTimeout() + time.Second, // a call may run twice
		ByName:      true,
		ChecksArgs:  true, // the server does
		Reach:       tools.ReachOwn,
		Asks:        func() tools.Ask { return m.ask(listed) },
		Handle: func(ctx context.Context, c tools.Call) (tools.Result, error) {
			m.countCall()
			answer, err := m.call(ctx, c.Channel, listed, c.Args)
			if err != nil {
				return tools.Result{}, err
			}
			return m.room.results.resultOf(name, answer)
		},
	}
}

// describe returns what models read of a tool: that a server says it, and what it says.
func describe(server, description string) string {
	marked := tools.MarkOf(server) + visible.Prose(strings.TrimSpace(description))
	return mdtext.Shorten(marked, maxDescription)
}

// ask says whether a person must allow a call of a tool.
func (m *mount) ask(listed *tools.Tool) tools.Ask {
	known := m.listing()
	name := m.server.NameOf(listed.Name)
	trust := func(ctx context.Context) { m.trust(ctx, listed) }
	before, hasChanged := known.Trusted[name]
	since, isNew := known.New[name]
	allows := m.server.Allows(listed.Name, listed.Annotations.ReadOnly)
	switch {
	case hasChanged: // whatever the file allows
		return tools.Ask{
			Needed:  true,
			Why:     changeOf(&before, listed),
			Allowed: trust,
		}
	case !known.asks(&m.server, listed):
		return tools.Ask{}
	case isNew:
		return tools.Ask{
			Needed:  true,
			Always:  !allows, // else it runs unasked once it is known
			Why:     newsOf(m.server.Name, listed, since),
			Allowed: trust,
		}
	}
	return tools.Ask{
		Needed:     true,
		Always:     true,
		Why:        "It is a tool of the mounted server " + m.server.Name + ".",
		RunUnasked: "let it run unasked with `bareclaw mount add " + m.server.Name + " --replace --allow …`",
	}
}

// trust notes that a person knows a tool as the server has listed it.
func (m *mount) trust(ctx context.Context, listed *tools.Tool) {
	m.mu.Lock()
	next, changed := m.known.trusting(&m.server, listed)
	m.known = next
	m.mu.Unlock()
	if !changed {
		return
	}
	if err := m.keep(ctx); err != nil {
		m.log.Error("the tool will ask again after a restart", "tool", listed.Name, "err", err)
	}
}

// learned notes what the server has listed, and offers it. The error says why that cannot be offered.
func (m *mount) learned(listed list) error {
	m.mu.Lock()
	before := m.known
	next, err := before.next(&m.server, listed, time.Now())
	m.known = next
	m.pending = m.pending || err == nil && !next.isLike(&before)
	m.mu.Unlock()
	if err != nil || m.pool.isRetired() || next.isLike(&before) {
		return err
	}
	if changed := len(next.Trusted) - len(before.Trusted); changed > 0 && !before.Since.IsZero() {
		m.log.Warn("tools of the mounted server have changed or gone; those that it has ask anew", "tools", changed)
	}
	if added := len(next.New) - len(before.New); added > 0 {
		m.log.Warn("the mounted server has new tools, which ask the first time", "tools", added)
	}
	if err := m.keep(m.room.life.ctx); err != nil {
		m.log.Error("the server must list its tools again after a restart", "err", err)
	}
	m.room.offer()
	return nil
}

// keep puts what the server has listed on record, unless another mount has its place.
func (m *mount) keep(ctx context.Context) error {
	m.room.keeping.Lock()
	defer m.room.keeping.Unlock()
	if m.pool.isRetired() {
		return nil
	}
	known := m.listing()
	return keepListing(ctx, m.room.records, m.server.Name, &known)
}
