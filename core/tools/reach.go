package tools

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"bareclaw/core"
)

// A Policy says what sessions may call. The methods return what applies at the moment of the call.
type Policy interface {
	// View returns what the session of a channel sees of the registry; for "", what that of a channel
	// without a choice of its own sees.
	View(channel core.ChannelKey) View
	// Mode returns the permission mode of a channel; for "", that of a channel without one of its
	// own.
	Mode(channel core.ChannelKey) string
	// HasRule reports whether a channel has the rule that allows something for ever.
	HasRule(channel core.ChannelKey, rule string) bool
	// OwnModes returns the permission modes of the channels that have one of their own.
	OwnModes() map[core.ChannelKey]string
}

// unrestricted is the policy that lets sessions call every tool.
type unrestricted struct{}

// View returns the view of all tools.
func (unrestricted) View(core.ChannelKey) View { return View{} }

// Mode returns the same mode for each channel.
func (unrestricted) Mode(core.ChannelKey) string { return "" }

// HasRule reports that there are no rules.
func (unrestricted) HasRule(core.ChannelKey, string) bool { return false }

// OwnModes returns none.
func (unrestricted) OwnModes() map[core.ChannelKey]string { return nil }

// A Reach returns the channel that a call acts on, or whose content the call shows. A session may
// call a tool only if the agent of that channel may do no more unasked than the agent that calls:
// else a permission mode would protect from nobody who can reach another channel.
type Reach func(ctx context.Context, c Call) (core.ChannelKey, error)

// ReachOwn is the Reach of a tool that computes, that shows what every session may know, or that
// acts on the channel of its caller alone.
func ReachOwn(_ context.Context, c Call) (core.ChannelKey, error) { return c.Channel, nil }

// ReachOf returns the Reach of a tool whose arguments say which channel it is.
func ReachOf[A any](channel func(ctx context.Context, c Call, args A) (core.ChannelKey, error)) Reach {
	return func(ctx context.Context, c Call) (core.ChannelKey, error) {
		args, err := decodeArgs[A](c)
		if err != nil {
			return "", err
		}
		return channel(ctx, c, args)
	}
}

// permit returns why the call reaches too far, with what a person can do.
func permit(ctx context.Context, policy Policy, t *Tool, c Call) error {
	if c.ByUser() {
		return nil
	}
	if t.Reach == nil {
		return permitAll(policy, t, c)
	}
	target, err := t.Reach(ctx, c)
	if err != nil || target == c.Channel {
		return err
	}
	if own, other := policy.Mode(c.Channel), policy.Mode(target); !core.MayDirect(own, other) {
		return &reachError{
			tool: t.Name,
			why:  fmt.Sprintf("It acts on channel %.300q, whose agent has the permission mode %s and may do more unasked than %s.", target, shownMode(other), callerIs(c)),
			text: fmt.Sprintf("%s, and channel %.300q has %s, so its agent may do more unasked than you may. "+
				"A person can write there, or change one of the two modes", callerHas(c, own), target, shownMode(other)),
		}
	}
	return nil
}

// A reachError refuses a call that reaches too far, unless a person allows it.
type reachError struct {
	tool string
	why  string // for the person, in a sentence
	text string // for the model
}

// Error says what the caller may do less than the agents that the call reaches, and what a person can do.
func (e *reachError) Error() string { return e.tool + " is refused: " + e.text }

// permitAll is permit for a tool that reaches all channels, with those to come.
func permitAll(policy Policy, t *Tool, c Call) error {
	refused := func(own, whose, other string) error {
		return &reachError{
			tool: t.Name,
			why:  fmt.Sprintf("It concerns all channels, and %s the permission mode %s: agents there may do more unasked than %s.", whose, shownMode(other), callerIs(c)),
			text: fmt.Sprintf("it concerns all channels; %s, and %s %s, so there are agents that may do more unasked than you may. "+
				"A person can do it, or change the modes", callerHas(c, own), whose, shownMode(other)),
		}
	}
	own, modes := policy.Mode(c.Channel), policy.OwnModes()
	if other := policy.Mode(""); !core.MayDirect(own, other) {
		return refused(own, "a channel without a mode of its own has", other)
	}
	for _, key := range slices.Sorted(maps.Keys(modes)) {
		if !core.MayDirect(own, modes[key]) {
			return refused(own, fmt.Sprintf("channel %.300q has", key), modes[key])
		}
	}
	return nil
}

// callerIs names the caller for a person.
func callerIs(c Call) string {
	if c.Local {
		return "commands at the Unix socket, from which this call comes"
	}
	return "this one"
}

// callerHas begins the reason of a refusal.
func callerHas(c Call, mode string) string {
	if c.Local {
		return "a call that does not come from a session has the gateway's own permission mode, " + shownMode(mode)
	}
	return "your channel has the permission mode " + shownMode(mode)
}

func shownMode(mode string) string { return cmp.Or(mode, "that Claude's own settings choose") }
