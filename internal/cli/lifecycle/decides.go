package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"bareclaw/core/config"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/internal/cli/backup"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
	"bareclaw/internal/visible"
)

// errUnasked ends a restore that a person must agree to and nobody can be asked.
var errUnasked = errors.New("nothing was put in place, because there is no terminal to ask at: read what is listed above, and agree with --yes")

const (
	// maxRows bounds the files, snapshots and messages that are listed.
	maxRows = 20
	// maxText bounds what is shown of the text of a message or schedule, in characters. Commands and
	// settings are shown whole.
	maxText = 200
)

// A decision is what a part of a backup decides about programs, rights and access.
type decision struct {
	what string
	rows []string
}

// agree shows what the unpacked backup decides, and returns an error unless the user agrees. A
// backup that decides nothing needs nobody's consent.
func agree(c *command.Context, work string, env []backup.Part, yes bool) error {
	all, err := decisions(c.Context, work, env)
	if err != nil || len(all) == 0 {
		return err
	}
	c.Tellf("This backup decides what is run as you, and who may have it run:")
	for _, d := range all {
		c.Tellf("  %s", term.SafeLine(d.what))
		for _, row := range d.rows {
			c.Tellf("    %s", visible.Line(row))
		}
	}
	switch {
	case yes:
		return nil
	case !term.IsTerminal(c.In):
		return errUnasked
	}
	return c.Confirm("Restore all of it?")
}

// decisions lists what the unpacked backup decides, of settings only what is not in place already.
func decisions(ctx context.Context, work string, env []backup.Part) (all []decision, err error) {
	add := func(what string, rows []string) {
		if len(rows) > 0 {
			all = append(all, decision{what, rows})
		}
	}
	for _, p := range env {
		rows, err := settingsIn(filepath.Join(work, p.Name), p.Path)
		if err != nil {
			return nil, err
		}
		add("settings in "+p.Path+":", rows)
	}
	standing, err := sqlite.ReadStanding(ctx, filepath.Join(work, backup.Ledger))
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		what string
		rows []string
	}{
		{"permission modes of channels:", modesIn(standing)},
		{"rules by which Claude is not asked:", rulesIn(standing)},
		{"schedules, with the commands that are run before each message:", jobsIn(standing)},
		{"messages that Claude may be given at the next start:", givenIn(standing)},
		{"what is sent at the next start:", unsentIn(standing)},
		{"files of tools, which Claude may call:", filesIn(filepath.Join(work, backup.Tools))},
		{"snapshots of tools, to which the gateway may roll back:", toolsIn(filepath.Join(work, backup.Snapshots))},
		{"notes that Claude reads when a conversation begins:", filesIn(filepath.Join(work, backup.Notes))},
		{"servers that are mounted, which are programs that run as you, or addresses:", serversIn(filepath.Join(work, backup.Mounts))},
	} {
		add(part.what, part.rows)
	}
	return all, nil
}

// settingsIn lists the settings of a saved file that are not harmless, also those that are new, none if the same file is at
// path. A variable that is no setting is shown by name: every program that the gateway starts gets it.
func settingsIn(saved, path string) (rows []string, err error) {
	contents, err := os.ReadFile(saved)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the saved settings: %w", err)
	}
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, contents) {
		return nil, nil
	}
	vars, err := config.ReadDotEnv(saved)
	if err != nil {
		return nil, fmt.Errorf("the saved settings: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		switch {
		case config.IsHarmless(name) || vars[name] == "":
		case !config.IsSetting(name):
			rows = append(rows, name+" (a variable of all programs that the gateway starts)")
		case config.IsSecretName(name):
			rows = append(rows, name+" (a secret)")
		default:
			rows = append(rows, name+"="+vars[name])
		}
	}
	return rows, nil
}

func modesIn(s sqlite.Standing) (rows []string) {
	for _, key := range slices.Sorted(maps.Keys(s.Modes)) {
		rows = append(rows, fmt.Sprintf("%s: %s", key, s.Modes[key]))
	}
	return rows
}

func rulesIn(s sqlite.Standing) (rows []string) {
	for _, r := range s.Rules {
		rows = append(rows, fmt.Sprintf("%s: %s", r.Channel, r.Rule))
	}
	return rows
}

func jobsIn(s sqlite.Standing) (rows []string) {
	for _, j := range s.Jobs {
		row := fmt.Sprintf("%s, %s: ", j.Channel, j.When)
		if j.Precheck != "" {
			row += "runs `" + j.Precheck + "`, then "
		}
		rows = append(rows, row+"says "+humanize.Shorten(j.Text, maxText))
	}
	return rows
}

func givenIn(s sqlite.Standing) (rows []string) {
	for _, g := range s.Given {
		rows = append(rows, fmt.Sprintf("%s: %s", g.Channel, humanize.Shorten(g.Text, maxText)))
	}
	rows = listed(rows)
	if s.Inbox > 0 {
		rows = append(rows, humanize.Count(int(s.Inbox), "update")+" of chats, not read yet")
	}
	return rows
}

func unsentIn(s sqlite.Standing) (rows []string) {
	for _, key := range slices.Sorted(maps.Keys(s.Unsent)) {
		rows = append(rows, fmt.Sprintf("%s: %s", key, humanize.Count(s.Unsent[key], "delivery")))
	}
	return listed(rows)
}

// toolsIn lists the snapshots in a directory that have files of tools, with their number.
func toolsIn(snapshots string) (rows []string) {
	for _, id := range snapshotsIn(snapshots) {
		if n := len(allFilesIn(filepath.Join(snapshots, id))) - 1; n > 0 { // beside the one that describes it
			rows = append(rows, fmt.Sprintf("%s (%s)", id, humanize.Count(n, "file")))
		}
	}
	return listed(rows)
}

// filesIn lists the first files at a path, with paths relative to it.
func filesIn(path string) []string { return listed(allFilesIn(path)) }

func allFilesIn(path string) (rows []string) {
	_ = filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error { // nothing is there, or what this program has just written
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(filepath.Dir(path), file) // both are below the same directory
			rows = append(rows, rel)
		}
		return nil
	})
	return rows
}

// listed returns the first rows, and how many more there are.
func listed(rows []string) []string {
	if more := len(rows) - maxRows; more > 0 {
		return append(rows[:maxRows], fmt.Sprintf("… and %d more", more))
	}
	return rows
}
