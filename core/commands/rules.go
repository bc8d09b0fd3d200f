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
	own := r.settings.Settings(c.Channel)
	return rulesNote(own.Rules), nil
}

// remove removes a rule, and shows the others: remove ID.
func (r rules) remove(ctx context.Context, c Call) (Note, error) {
	id, ok := strings.CutPrefix(c.Arg, "remove ")
	if !ok {
		return r.show(ctx, c)
	}
	id = strings.TrimSpace(id)
	done := "Removed. Claude asks again from the next turn on."
	err := r.settings.RemoveRule(ctx, c.Channel, id)
	switch {
	case errors.Is(err, core.ErrNotFound):
		done = "This rule was already removed."
	case err != nil:
		return Note{}, Failed("remove the rule", err)
	}
	note, err := r.show(ctx, c)
	note.Done = done
	return note, err
}

// rulesNote shows rules, with a choice that removes each of them.
func rulesNote(all []core.Rule) Note {
	if len(all) == 0 {
		return Note{Text: "This chat has no rules. The button “Always” of a permission request adds one."}
	}
	var b strings.Builder
	b.WriteString("Always allowed in this chat:\n\n")
	shown := all[:min(len(all), rulesShown)]
	var removals []Choice
	for i := range shown {
		rule := &shown[i]
		fmt.Fprintf(&b, "%d\\. %s\n", i+1, ruleText(rule))
		removals = append(removals, removal(i+1, rule))
	}
	if more := len(all) - len(shown); more > 0 {
		fmt.Fprintf(&b, "\nAnd %d more, shown when some of these are removed.", more)
	}
	return Note{
		Text:    b.String(),
		Choices: removals,
	}
}

// ruleText returns a rule and the name of whoever added it, as Markdown.
func ruleText(r *core.Rule) string {
	line := visible.Line(r.Rule)
	text := mdtext.Code(mdtext.Shorten(line, 120))
	if r.By != "" {
		by := mdtext.Brief(r.By, 40)
		text += " by " + mdtext.Literal(by)
	}
	return text
}

// removal returns the choice that removes a rule, by its number in the list.
func removal(number int, r *core.Rule) Choice {
	line := visible.Line(r.Rule)
	short := mdtext.Shorten(line, 40)
	return Choice{
		Label:   fmt.Sprintf("Remove %d: %s", number, short),
		Command: "/rules remove " + r.ID,
	}
}
