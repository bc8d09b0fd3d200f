package telegram

import (
	"context"
	"strconv"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
)

// verbosities says what each level shows.
var verbosities = [...]string{"answers only", "answers, and what Claude is doing", "everything that Claude does and says"}

// cmdVerbose shows or sets how much is shown.
func (a *Adapter) cmdVerbose(ctx context.Context, c call) Note {
	if c.arg == "" {
		return verboseNote("Shown here", a.records.SettingsOf(ctx, c.place.Key()).Verbosity())
	}
	return a.setVerbose(ctx, c.place, c.arg)
}

// tapVerbose is the tap on a level.
func (a *Adapter) tapVerbose(ctx context.Context, t tap) string {
	return a.tapSetting(ctx, t, a.setVerbose)
}

func (a *Adapter) setVerbose(ctx context.Context, p chats.Address, arg string) Note {
	level, err := strconv.Atoi(arg)
	if err != nil || level < 0 || level >= len(verbosities) {
		return Note{Text: literal(brief(arg, 100)) + " is no level. Write /verbose 0 (" + verbosities[0] + "), 1 (" + verbosities[1] +
			") or 2 (" + verbosities[2] + ")."}
	}
	s := a.records.SettingsOf(ctx, p.Key())
	s.Verbose = &level
	if err := a.records.Put(ctx, records.SettingsKey(p.Key()), s); err != nil {
		return a.failed(ctx, "keep the setting", err)
	}
	return verboseNote("From now on", level)
}

func verboseNote(when string, level int) Note {
	var row []Button
	for i := range verbosities {
		n := strconv.Itoa(i)
		row = append(row, Button{Text: chosen(n, i == level), Data: "verbose:" + n})
	}
	return Note{Text: when + ": " + verbosities[level] + ". Tap 0, 1 or 2 to change that.", Buttons: [][]Button{row}}
}
