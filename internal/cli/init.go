package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/cli/setup"
	"bareclaw/internal/term"
)

// Init sets the gateway up.
type Init struct {
	JSON bool `help:"Print what became of each step as one JSON document; all else goes to stderr."`

	Claude string `placeholder:"PATH" help:"The claude CLI."`
	Agent  string `placeholder:"NAME" help:"What answers: auto, claude or echo."`
	Port   string `placeholder:"N" help:"TCP port of the HTTP API."`
	CWD    string `name:"cwd" placeholder:"DIR" help:"Directory that Claude works in."`
	Source string `placeholder:"DIR|off" help:"Source tree that restarts build the gateway from."`

	HTTPToken     string `name:"http-token" placeholder:"TOKEN|generate|none" help:"Token that requests over TCP must carry. Others see what stands on a command line: better give a file, or the environment."`
	HTTPTokenFile string `name:"http-token-file" placeholder:"FILE" help:"File that holds it; - is standard input."`
	BotTokenFile  string `name:"telegram-token-file" placeholder:"FILE" help:"File that holds the token of your Telegram bot; - is standard input."`
	AllowedUsers  string `placeholder:"IDS" help:"Numeric ids of the Telegram users that the bot listens to, comma-separated."`

	setup.Flags
	NoHeartbeat bool `help:"The same as --heartbeat=no."`
}

// Run runs the command.
func (i *Init) Run(c *command.Context) error {
	in, _ := c.In.(*os.File)
	if !i.Yes && !term.IsTerminal(c.In) {
		return command.Usagef("init asks, and standard input is not a terminal; in a script use: bareclaw init --yes")
	}
	if i.NoHeartbeat && i.Heartbeat != "" && i.Heartbeat != setup.HeartbeatNo {
		return command.Usagef("--no-heartbeat and --heartbeat=%s cannot go together", i.Heartbeat)
	} else if i.NoHeartbeat {
		i.Heartbeat = setup.HeartbeatNo
	}
	settings, err := i.settings(c.In)
	if err != nil {
		return err
	}
	o := setup.Options{
		Flags: i.Flags, In: in, Out: c.Out, Self: c.Self, Version: c.Version, Environ: c.Environ, Settings: settings, Service: service.Local(),
	}
	if i.JSON {
		o.Out = c.Err
	}
	summary, err := setup.Run(c.Context, o)
	if i.JSON && len(summary.Steps) > 0 {
		if err := c.PrintIndented(summary); err != nil {
			return fmt.Errorf("print the summary: %w", err)
		}
	}
	if err != nil {
		return err
	}
	if !summary.OK {
		return command.ErrFailed
	}
	return nil
}

func (i *Init) settings(in io.Reader) (map[string]string, error) {
	if i.HTTPTokenFile == "-" && i.BotTokenFile == "-" {
		return nil, &config.Problem{Source: "--http-token-file, --telegram-token-file", Problem: "both are standard input", Accepted: "a file for one of them"}
	}
	values := map[string]string{
		"BARECLAW_CLAUDE": i.Claude, "BARECLAW_AGENT": i.Agent, "BARECLAW_PORT": i.Port, "BARECLAW_CWD": i.CWD, "BARECLAW_SOURCE": i.Source,
		"BARECLAW_HTTP_TOKEN": i.HTTPToken, "BARECLAW_ALLOWED_USERS": i.AllowedUsers,
	}
	for name, path := range map[string]string{"BARECLAW_HTTP_TOKEN": i.HTTPTokenFile, "BARECLAW_TELEGRAM_TOKEN": i.BotTokenFile} {
		if path == "" {
			continue
		}
		secret, err := readSecret(path, in)
		if err != nil {
			return nil, err
		}
		values[name] = secret
	}
	for name, value := range values {
		if value == "" {
			delete(values, name)
			continue
		}
		if err := config.Check(name, value); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// readSecret reads a secret from a file, or from in for "-".
func readSecret(path string, in io.Reader) (string, error) {
	const enough = 64 << 10
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", &config.Problem{Source: path, Problem: "it cannot be read: " + err.Error()}
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, enough))
	if err != nil {
		return "", fmt.Errorf("read a secret from %s: %w", path, err)
	}
	secret := strings.TrimSpace(string(b))
	if secret == "" {
		return "", &config.Problem{Source: path, Problem: "it is empty", Accepted: "a file that holds the secret alone"}
	}
	return secret, nil
}
