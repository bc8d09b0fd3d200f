package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
)

// policy lets the channel narrow see some tools, and has a rule on the channel ruled.
type policy struct{}

// View implements [tools.Policy].
func (policy) View(channel core.ChannelKey) tools.View {
	switch channel {
	case "narrow":
		return tools.ViewOf("clock,stranger")
	case "none":
		return tools.ViewOf("none")
	}
	return tools.View{}
}

// Mode implements [tools.Policy].
func (policy) Mode(channel core.ChannelKey) string {
	if channel == "strict" {
		return "dontAsk"
	}
	return ""
}

// HasRule implements [tools.Policy].
func (policy) HasRule(channel core.ChannelKey, rule string) bool {
	return channel == "ruled" && rule == "mcp__bareclaw__stranger"
}

// OwnModes implements [tools.Policy].
func (policy) OwnModes() map[core.ChannelKey]string { return nil }

func toolOf(name, description, schema string) tools.Tool {
	return tools.Tool{
		Name:        name,
		Description: description,
		Input:       json.RawMessage(schema),
		Handle:      func(context.Context, tools.Call) (tools.Result, error) { return tools.Result{}, nil },
	}
}

// newRegistry returns a registry with tools of the gateway, and one of a stranger, whose words are odd.
func newRegistry(t *testing.T, more ...tools.Source) *tools.Registry {
	t.Helper()
	stranger := toolOf("stranger", "Delete *all*\n# files\u202e `now`", `{"type":"object","properties":{
		"path":{"type":["string","null"],"description":"Where **all** is"},
		"`+"`x`"+`\u0007":{"type":"string"},"any":true,"last":{"description":7}},"required":["path","last"]}`)
	stranger.Category = tools.Filesystem
	stranger.Asks = func() tools.Ask {
		return tools.Ask{
			Needed: true,
			Why:    "It is *new*.",
			Always: true,
		}
	}
	sources := []tools.Source{
		tools.Dispatchers(),
		tools.Fixed("gateway", toolOf("clock", "Say what time it is", `{"type":"object"}`)),
		tools.Fixed("[the_shop](x)", stranger),
	}
	r, err := tools.NewRegistry(tools.Options{
		Log:     slog.New(slog.DiscardHandler),
		Sources: append(sources, more...),
		Policy:  policy{},
	})
	check.OK(t, err)
	return r
}

// shownOn returns what a command says on a channel.
func shownOn(t *testing.T, all *Table, channel core.ChannelKey, text string) string {
	t.Helper()
	name, arg, _ := Parse(text)
	c, ok := all.Find(name)
	if !ok {
		t.Fatalf("%s is no command", text)
	}
	note, err := c.Answer(t.Context(), Call{Channel: channel, Arg: arg})
	check.OK(t, err)
	return note.Text
}

// TestTools: people see the tools that their chat has, and the words of others do not act as Markdown.
func TestTools(t *testing.T) {
	t.Parallel()
	all := table(t)
	const sheet = "`stranger`\n\n> Delete \\*all\\* \\# files\\\\u\\{202E\\} \\`now\\`\n\n**From**: &#91;the&#95;shop&#93;&#40;x&#41;\n**For**: filesystem\n"
	for _, c := range []struct {
		channel core.ChannelKey
		text    string
		has     []string
		hasNot  string
	}{
		{"desk", "/tools", []string{
			"Claude has 4 tools of the gateway",
			"\n**&#91;the&#95;shop&#93;&#40;x&#41;** (1): `stranger`\n\n**gateway** (3): `clock`, `tool_call`, `tool_search`\n",
		}, ""},
		{"narrow", "/tools", []string{"Claude has 4 tools", "`clock`"}, ""},
		{"none", "/tools", []string{"Claude has 2 tools"}, "clock"},
		{"desk", "/tools what TIMES", []string{"1\\. `clock` (gateway): Say what time it is"}, "stranger"},
		{"desk", "/tools delete", []string{"1\\. `stranger` (&#91;the&#95;shop&#93;&#40;x&#41;): Delete \\*all\\*"}, "clock"},
		{"none", "/tools delete", []string{"No tool that Claude has in this chat has any of these words: delete"}, "stranger"},
		{"none", "/tools stranger", []string{"No tool that Claude has in this chat"}, "Delete"},
		{"desk", "/tools *", []string{"any of these words: \\*"}, ""},
		{"desk", "/tools stranger", []string{
			sheet,
			"**Asks**: a person, before each call. It is \\*new\\*",
			"**Parameters**: 4\n\n- `last` (required)\n- `path` (string or null, required): Where \\*\\*all\\*\\* is\n",
			"- `any`\n",
		}, "\u0007"},
		{"ruled", "/tools stranger", []string{"**Asks**: nobody, unless"}, "a person"},
		{"strict", "/tools stranger", []string{"**Asks**: nobody, and each call is refused", "It is \\*new\\*"}, "a person, before"},
		{"strict", "/tools clock", []string{"**Asks**: nobody; a call that acts on a chat whose agent may do more than this one is refused"}, "a person"},
		{"narrow", "/tools mcp__bareclaw__Clock", []string{"`clock`\n\n> Say what time it is\n\n**From**: gateway\n**For**: utility\n", "**Parameters**: none\n"}, ""},
	} {
		got := shownOn(t, all, c.channel, c.text)
		for _, want := range c.has {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s: %q, want %q", c.channel, c.text, got, want)
			}
		}
		if c.hasNot != "" && strings.Contains(got, c.hasNot) {
			t.Errorf("%s: %s: %q has %q", c.channel, c.text, got, c.hasNot)
		}
	}
}

// TestManyTools: what /tools says is bounded, whatever there is.
func TestManyTools(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 1000)
	var sources []tools.Source
	for n := range 50 {
		var all []tools.Tool
		for i := range 50 {
			all = append(all, toolOf(fmt.Sprintf("do_%d_%d", n, i), long, `{"type":"object"}`))
		}
		sources = append(sources, tools.Fixed(fmt.Sprintf("source%02d ", n)+long, all...))
	}
	properties := map[string]any{}
	for n := range 100 {
		properties[fmt.Sprint(n, long)] = map[string]string{
			"type":        long,
			"description": long,
		}
	}
	schema, err := json.Marshal(map[string]any{
		"type":       "object",
		"properties": properties,
	})
	check.OK(t, err)
	sources = append(sources, tools.Fixed("big", toolOf("big", long, string(schema))))
	all, err := NewTable(ToolsCommand(newRegistry(t, sources...)))
	check.OK(t, err)
	for text, want := range map[string]string{
		"/tools":         "And those of 23 other sources.",
		"/tools long":    "10\\. `",
		"/tools big":     "And 80 more.",
		"/tools " + long: "10\\. `",
	} {
		got := shownOn(t, all, "desk", text)
		if named := strings.Count(got, "`do"); text == "/tools" && (named < 100 || named > toolsNamed) {
			t.Errorf("%d tools are named", named)
		}
		if len(got) > 10_000 || !strings.Contains(got, want) {
			t.Errorf("%.20s: %d bytes: %.3000s, want %s", text, len(got), got, want)
		}
	}
}
