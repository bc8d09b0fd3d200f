package cli

import (
	"errors"
	"os"
	"strings"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/config"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/term"
)

type settings listed

// Help is shown below the summary.
func (*settings) Help() string {
	return "While the gateway runs, these are the settings that it has been started with; else those that it would be started with here. " +
		"What a file says since then is named. Tokens are hidden. Change a line in the settings file, then `bareclaw restart`."
}

// A settingsReport is the settings in force, and what would be in force after a restart.
type settingsReport struct {
	Running  bool          `json:"running"`
	Files    []settingFile `json:"files"`
	Settings []api.Setting `json:"settings"`
	Pending  []api.Setting `json:"pending"`           // differ in a file, and apply after a restart
	Problem  string        `json:"problem,omitempty"` // of the files, so that the gateway would not start with them
}

// A settingFile is a .env that counts.
type settingFile struct {
	Path  string `json:"path"`
	Found bool   `json:"found"`
}

// Run runs the command.
func (s *settings) Run(c *command.Context, gateway *client.Client) error {
	report, err := inForce(c, gateway)
	if err != nil {
		return err
	}
	if s.JSON {
		return c.PrintJSON(report)
	}
	return c.PrintLines(settingLines(report, term.PaletteFor(c.Out), c.Width())...)
}

// inForce asks the gateway for its settings, or reads them where none runs.
func inForce(c *command.Context, gateway *client.Client) (*settingsReport, error) {
	var running api.Settings
	unreachable := c.Get(gateway, api.PathSettings, &running)
	if command.InSession() { // which does not know the gateway's files
		return &settingsReport{Running: true, Files: []settingFile{}, Settings: running.Settings, Pending: []api.Setting{}}, unreachable
	}
	if unreachable != nil && !errors.Is(unreachable, client.ErrUnreachable) {
		return nil, unreachable
	}
	report := &settingsReport{Running: unreachable == nil, Settings: running.Settings, Pending: []api.Setting{}}
	here, users, err := config.DotEnvFiles(c.Role)
	if err != nil {
		return nil, err
	}
	for _, path := range []string{here, users} {
		if path != "" {
			_, missing := os.Stat(path)
			report.Files = append(report.Files, settingFile{path, missing == nil})
		}
	}
	cfg, err := c.Config()
	switch {
	case err != nil && !report.Running:
		return nil, err
	case err != nil:
		report.Problem = err.Error()
		return report, nil //nolint:nilerr // the report says it
	case !report.Running:
		report.Settings = client.Settings(cfg)
		return report, nil
	}
	for i, v := range client.Settings(cfg) {
		fromFile := strings.HasPrefix(v.Source, "/")
		if i < len(running.Settings) && running.Settings[i].Name == v.Name && running.Settings[i].Value != v.Value && fromFile {
			report.Pending = append(report.Pending, v)
		}
	}
	return report, nil
}

func settingLines(r *settingsReport, colours term.Palette, width int) []string {
	t := &command.Table{Shared: true}
	t.Head(term.Faint, "SETTING", "VALUE", "FROM")
	for _, s := range r.Settings {
		name := command.Text(s.Name).Painted(term.Bold)
		if s.Source == config.FromDefault {
			name = command.Text(s.Name)
		}
		t.Add(name, command.Text(s.Value), command.Text(s.Source))
	}
	lines := t.Lines(colours, width)
	for _, f := range r.Files {
		line := "Settings file: " + term.SafeLine(f.Path)
		if !f.Found {
			line += " (there is none yet)"
		}
		lines = append(lines, line)
	}
	for _, s := range r.Pending {
		lines = append(lines, colours.Paint(term.Yellow, term.SafeLine(s.Source+" says "+s.Name+"="+s.Value)+", from the next `bareclaw restart` on."))
	}
	lines = append(lines, problemLines(term.SafeLine(r.Problem), colours, width)...)
	if !r.Running {
		lines = append(lines, "The gateway does not run. It would be started with these; .env.example and docs/settings.md explain them.")
	}
	return lines
}
