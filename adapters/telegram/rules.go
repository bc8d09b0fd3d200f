package telegram

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/core"
)

// rulesShown is how many rules have a button at once.
const rulesShown = 20

// cmdRules lists what is allowed on the chat without asking.
func (a *Adapter) cmdRules(ctx context.Context, c call) Note { return a.rulesNote(ctx, c.place) }

func (a *Adapter) rulesNote(ctx context.Context, p chats.Address) Note {
	rules, err := a.o.Core.Rules(ctx, p.Key())
	switch {
	case err != nil:
		return a.failed(ctx, "read the rules", err)
	case len(rules) == 0:
		return Note{Text: "Nothing is always allowed here by a rule of this chat. The button “Always” of a permission request adds one."}
	}
	var b strings.Builder
	var rows [][]Button
	b.WriteString("Always allowed in this chat:\n\n")
	for i, r := range rules {
		if i == rulesShown {
			fmt.Fprintf(&b, "\nAnd %d more, shown when some of these are removed.", len(rules)-i)
			break
		}
		fmt.Fprintf(&b, "%d\\. %s", i+1, code(brief(r.Rule, 120)))
		if r.By != "" {
			fmt.Fprintf(&b, " by %s", literal(brief(r.By, 40)))
		}
		b.WriteString("\n")
		rows = append(rows, []Button{{Text: fmt.Sprintf("Remove %d: %s", i+1, brief(r.Rule, 40)), Data: "unrule:" + r.ID}})
	}
	return Note{Text: b.String(), Buttons: rows}
}

// tapUnrule takes a rule back and shows those that are left.
func (a *Adapter) tapUnrule(ctx context.Context, t tap) string {
	if t.stale {
		return "This message is too old for its buttons. Send /rules again."
	}
	answer := "Removed. Claude asks again from the next turn on."
	switch err := a.o.Core.RemoveRule(ctx, t.place.Key(), t.arg); {
	case errors.Is(err, core.ErrNotFound):
		answer = "It was removed already."
	case err != nil:
		return a.failed(ctx, "remove the rule", err).Text
	}
	a.change(ctx, "edit:"+t.key, t.place.Key(), edit{Message: t.message, Note: a.rulesNote(ctx, t.place)})
	return answer
}
