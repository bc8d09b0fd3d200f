package commands

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/toolset"
)

// Bounds of what /tools shows.
const (
	toolsNamed   = 150 // names of tools, of all sources together
	sourcesNamed = 30
	toolsFound   = 10  // by a search
	sourceUnits  = 60  // of the name of a source, in UTF-16 units
	purposeUnits = 120 // of a description in a list, in UTF-16 units
)

// Tools are the tools of the gateway.
type Tools interface {
	// View returns what the session of a channel sees of the tools.
	View(channel core.ChannelKey) tools.View
	// List returns the tools of a view, sorted by name.
	List(v tools.View) []tools.Tool
	// Search returns the tools of a view that have any word of a query, at most limit, the best first.
	Search(query string, v tools.View, limit int) ([]tools.Tool, error)
	// AskOf returns whether a person must allow each call of a tool on a channel, and why.
	AskOf(channel core.ChannelKey, t *tools.Tool) tools.Ask
}

// ToolsCommand returns the command /tools, which shows what the session of a chat may call.
func ToolsCommand(all Tools) Command {
	return Command{
		Name:   "tools",
		Help:   "the tools that Claude has here: see, search",
		Access: Reads,
		Show:   catalog{all}.show,
	}
}

// catalog shows tools.
type catalog struct{ tools Tools }

// show shows all tools, the one whose name is the argument, or those that have words of it.
func (c catalog) show(_ context.Context, call Call) (Note, error) {
	view := c.tools.View(call.Channel)
	all := c.tools.List(view)
	if call.Arg == "" {
		return Note{Text: overview(all)}, nil
	}
	name := strings.TrimPrefix(call.Arg, toolset.Prefix)
	i := slices.IndexFunc(all, func(t tools.Tool) bool { return strings.EqualFold(t.Name, name) })
	if i >= 0 {
		t := &all[i]
		ask := c.tools.AskOf(call.Channel, t)
		return Note{Text: toolSheet(t, ask)}, nil
	}
	found, err := c.tools.Search(call.Arg, view, toolsFound)
	if err != nil {
		return Note{}, Failed("search the tools", err)
	}
	return Note{Text: findings(call.Arg, found)}, nil
}

// overview counts and names tools by source.
func overview(all []tools.Tool) string {
	if len(all) == 0 {
		return "Claude has no tools of the gateway in this chat."
	}
	names := map[string][]string{} // of the tools, by source
	for i := range all {
		t := &all[i]
		names[t.Source] = append(names[t.Source], t.Name)
	}
	sources := slices.Sorted(maps.Keys(names))
	shown := sources[:min(len(sources), sourcesNamed)]
	share := shareOf(shown, names)
	var b strings.Builder
	count := mdtext.Count(len(all), "tool", "tools")
	b.WriteString("Claude has " + count + " of the gateway in this chat. `/tools WORDS` finds some of them, `/tools NAME` describes one.\n")
	for _, source := range shown {
		of := names[source]
		fmt.Fprintf(&b, "\n**%s** (%d): %s\n", sourceOf(source), len(of), listed(of, share))
	}
	if more := len(sources) - len(shown); more > 0 {
		b.WriteString("\nAnd those of " + mdtext.Count(more, "other source", "other sources") + ".")
	}
	return b.String()
}

// shareOf returns how many tools of each source are named: as many as there is room for.
func shareOf(sources []string, names map[string][]string) int {
	for share := toolsNamed; share > 1; share-- {
		named := 0
		for _, source := range sources {
			named += min(share, len(names[source]))
		}
		if named <= toolsNamed {
			return share
		}
	}
	return 1
}

// sourceOf returns the name of a source as Markdown.
func sourceOf(source string) string { return mdtext.Literal(mdtext.Brief(source, sourceUnits)) }

// originOf returns where a tool comes from, as Markdown: its source, and the mounted server if there is one.
func originOf(t *tools.Tool) string {
	if t.Mount == "" {
		return sourceOf(t.Source)
	}
	return sourceOf(t.Source + " " + t.Mount)
}

// listed returns at most limit names as Markdown, and how many more there are.
func listed(names []string, limit int) string {
	shown := names[:min(len(names), limit)]
	var all []string
	for _, name := range shown {
		all = append(all, mdtext.Code(name))
	}
	text := strings.Join(all, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// findings shows what a search has found.
func findings(query string, found []tools.Tool) string {
	if len(found) == 0 {
		return "No tool that Claude has in this chat has any of these words: " + quote(query) + ". `/tools` lists all."
	}
	var b strings.Builder
	b.WriteString("`/tools NAME` describes one of these.\n\n")
	for i := range found {
		t := &found[i]
		fmt.Fprintf(&b, "%d\\. %s (%s)", i+1, mdtext.Code(t.Name), originOf(t))
		if purpose := mdtext.Brief(t.Words(), purposeUnits); purpose != "" {
			b.WriteString(": " + mdtext.Literal(purpose))
		}
		b.WriteString("\n")
	}
	return b.String()
}
