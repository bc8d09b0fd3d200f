package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bareclaw/core"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/visible"
)

// rulesShown is how many rules are listed.
const rulesShown = 20

// rules list and remove the rules of channels.
type rules struct{ settings Settings }

func (r rules) show(_ context.Context, c Call) (Note, error) {
	return rulesNote(r.settings.Settings(c.Channel).Rules), nil
}

// remove removes a rule, and shows the others: remove ID.
func (r rules) remove(ctx context.Context, c Call) (Note, error) {
	id, ok := strings.CutPrefix(c.Arg, "remove ")
	if !ok {
		return r.show(ctx, c)
	}
	done := "Removed. Claude asks again from the next turn on."
	switch err := r.settings.RemoveRule(ctx, c.Channel, strings.TrimSpace(id)); {
	case errors.Is(err, core.ErrNotFound):
		done = "This rule was already removed."
	case err != nil:
		return Note{}, Failed("remove the rule", err)
	}
	note, err := r.show(ctx, c)
	note.Done = done
	return note, err
}

func rulesNote(all []core.Rule) Note {
	if len(all) == 0 {
		return Note{Text: "This chat has no rules. The button “Always” of a permission request adds one."}
	}
	var b strings.Builder
	var removals []Choice
	b.WriteString("Always allowed in this chat:\n\n")
	for i := range all {
		if i == rulesShown {
			fmt.Fprintf(&b, "\nAnd %d more, shown when some of these are removed.", len(all)-i)
			break
		}
		rule := visible.Line(all[i].Rule)
		fmt.Fprintf(&b, "%d\\. %s", i+1, mdtext.Code(mdtext.Shorten(rule, 120)))
		if by := all[i].By; by != "" {
			fmt.Fprintf(&b, " by %s", mdtext.Literal(mdtext.Brief(by, 40)))
		}
		b.WriteString("\n")
		removals = append(removals, Choice{fmt.Sprintf("Remove %d: %s", i+1, mdtext.Shorten(rule, 40)), "/rules remove " + all[i].ID})
	}
	return Note{Text: b.String(), Choices: removals}
}
