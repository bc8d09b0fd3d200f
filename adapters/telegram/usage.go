package telegram

import (
	"context"
	"fmt"

	"bareclaw/internal/humanize"
)

// cmdUsage says what was spent.
func (a *Adapter) cmdUsage(ctx context.Context, c call) Note {
	chat, err := a.o.Core.Usage(ctx, c.place.Key())
	if err != nil {
		return a.failed(ctx, "read what was spent", err)
	}
	all := a.o.Core.Spending()
	spent, budget := humanize.USD(all.Spent), "no daily budget is set"
	if all.Limit > 0 {
		var limit string
		spent, limit = humanize.USDOfLimit(all.Spent, all.Limit)
		budget = fmt.Sprintf("of %s a day, %s left", limit, humanize.USD(max(0, all.Limit-all.Spent)))
	}
	return Note{Text: fmt.Sprintf("**This chat today**: %s in %s\n**This chat ever**: %s in %s\n**All chats today**: %s, %s",
		humanize.USD(chat.SpentToday), count(chat.TurnsToday, "turn", "turns"), humanize.USD(chat.Spent), count(chat.Turns, "turn", "turns"),
		spent, budget)}
}
