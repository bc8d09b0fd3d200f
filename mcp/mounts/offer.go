package mounts

import (
	"context"
	"fmt"
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
	if m.server.Disabled || !known.isKnown(&m.server) {
		return nil, nil
	}
	for _, name := range known.Refused {
		unfit = append(unfit, fmt.Sprintf("tool %q: clients refuse its schema or its annotations", mdtext.Brief(name, maxShown)))
	}
	for i := range known.Tools {
		t := m.tool(&known.Tools[i])
		if err := t.Check(); err != nil {
			unfit = append(unfit, mdtext.Brief(err.Error(), maxShown))
			continue
		}
		fit = append(fit, t)
	}
	return fit, unfit
}

// tool returns a tool of the server as the registry has it.
func (m *mount) tool(listed *tools.Tool) tools.Tool {
	name := m.server.NameOf(listed.Name)
	hints := listed.Annotations
	hints.Title = mdtext.Brief(hints.Title, maxShown)
	mayRunAgain := hints.ReadOnly || hints.Idempotent
	return tools.Tool{
		Name:        name,
		Description: describe(m.server.Name, listed.Description),
		Mount:       m.server.Name,
		Input:       listed.Input,
		Annotations: hints,
		Category:    m.server.category(),
		Timeout:     startTimeout + 2*m.server.CallTimeout() + time.Second, // a call may run twice
		ByName:      true,
		ChecksArgs:  true, // the server does
		Reach:       tools.ReachOwn,
		Asks:        func() tools.Ask { return m.ask(listed) },
		Handle: func(ctx context.Context, c tools.Call) (tools.Result, error) {
			if c.Allowed {
				m.accept(ctx, listed)
			}
			m.countCall()
			answer, err := m.call(ctx, c.Channel, listed.Name, c.Args, mayRunAgain)
			if err != nil {
				return tools.Result{}, err
			}
			return m.room.results.resultOf(name, answer)
		},
	}
}

// describe returns what models read of a tool: that a server says it, and what it says.
func describe(server, description string) string {
	marked := "(The words of the mounted server " + server + ":) " + visible.Prose(strings.TrimSpace(description))
	return mdtext.Shorten(marked, maxDescription)
}

// ask says whether a person must allow a call of a tool.
func (m *mount) ask(listed *tools.Tool) tools.Ask {
	before, changed := m.listing().Before[listed.Name]
	switch {
	case changed: // whatever the file allows
		return tools.Ask{Needed: true, Why: changeOf(&before, listed)}
	case m.server.Allows(listed.Name, listed.Annotations.ReadOnly):
		return tools.Ask{}
	}
	return tools.Ask{
		Needed: true,
		Always: true,
		Why:    "It is a tool of the mounted server " + m.server.Name + ".",
	}
}

// accept notes that a person knows a tool as the server has listed it.
func (m *mount) accept(ctx context.Context, listed *tools.Tool) {
	m.mu.Lock()
	kept, changed := m.known.accepted(listed)
	m.known = kept
	m.mu.Unlock()
	if !changed {
		return
	}
	if err := keepListing(ctx, m.room.records, m.server.Name, &kept); err != nil {
		m.log.Error("the tool will ask again after a restart", "tool", listed.Name, "err", err)
	}
}

// learned notes what the server has listed, and offers it.
func (m *mount) learned(listed list) {
	m.mu.Lock()
	next := m.known.next(&m.server, listed, time.Now())
	same := next.isLike(&m.known)
	m.known = next
	m.mu.Unlock()
	if same {
		return
	}
	for name := range next.Before {
		m.log.Warn("a tool of the mounted server has changed, and asks anew", "tool", name)
	}
	if err := keepListing(m.room.life, m.room.records, m.server.Name, &next); err != nil {
		m.log.Error("the server must list its tools again after a restart", "err", err)
	}
	m.room.offer()
}
