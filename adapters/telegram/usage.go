package telegram

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// cmdUsage says what was spent.
func (a *Adapter) cmdUsage(ctx context.Context, c call) Note {
	chat, err := a.o.Core.Usage(ctx, c.place.key())
	if err != nil {
		return a.failed(ctx, "read what was spent", err)
	}
	all := a.o.Core.Spending()
	budget := "no daily budget is set"
	if all.Limit > 0 {
		budget = fmt.Sprintf("of %s a day, %s left", dollars(all.Limit), dollars(max(0, all.Limit-all.Spent)))
	}
	return Note{Text: fmt.Sprintf("**This chat today**: %s in %s\n**This chat ever**: %s in %s\n**All chats today**: %s, %s",
		dollars(chat.SpentToday), count(chat.TurnsToday, "turn", "turns"), dollars(chat.Spent), count(chat.Turns, "turn", "turns"),
		dollars(all.Spent), budget)}
}

// dollars shows an amount with two decimals, or as many more as a small one needs.
func dollars(usd float64) string {
	decimals := 2
	for small := usd; small > 0 && small < 0.1 && decimals < 6; small *= 10 {
		decimals++
	}
	text := strconv.FormatFloat(usd, 'f', decimals, 64)
	for decimals > 2 && strings.HasSuffix(text, "0") {
		text, decimals = text[:len(text)-1], decimals-1
	}
	return "$" + text
}
