// Package setup leads from a fresh program to a first answer in steps (`bareclaw init`):
// claude, its login, settings, the adapters and who may use them, the service, a first message,
// the heartbeat, and a final check.
//
// Each step reports a result, or the reason of a failure with advice; later steps run if
// possible. Good settings stay, so init can run again at any time. Settings are written at
// once, and the gateway accepts the file at any moment: a bot's token is written only
// together with the id of an allowed user.
package setup

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"bareclaw/adapters"
	"bareclaw/adapters/kinds"
	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/steps"
	"bareclaw/internal/term"
)

// Init sets the gateway up.
type Init struct {
	JSON bool `help:"Print what became of each step as one JSON document; all else goes to stderr."`

	Claude string `placeholder:"PATH" help:"The claude CLI."`
	Agent  string `placeholder:"NAME" help:"What answers: auto, claude or echo."`
	Port   string `placeholder:"N" help:"TCP port of the HTTP API."`
	CWD    string `name:"cwd" placeholder:"DIR" help:"Directory that Claude works in."`
	TZ     string `name:"tz" placeholder:"ZONE" help:"Time zone of reminders, schedules and budgets, such as Europe/Berlin; the machine's by default."`
	Source string `placeholder:"DIR|off" help:"Source tree that restarts build the gateway from."`

	HTTPToken     string `name:"http-token" placeholder:"TOKEN|generate|none" help:"Token that requests over TCP must carry. Other users can see command lines: prefer a file, or the environment."`
	HTTPTokenFile string `name:"http-token-file" placeholder:"FILE" help:"File that holds it; - is standard input."`

	LoginTokenFile string `name:"claude-token-file" placeholder:"FILE" help:"File that holds a login of Claude made by claude setup-token; - is standard input."`
	Permissions    string `enum:"free,ask,auto," default:"" placeholder:"CHOICE" help:"What Claude may do without asking: free runs any command and edits any file, ask asks before, auto leaves it to Anthropic's safety check. Without it what is set stays, by default free."`

	Yes bool `short:"y" help:"Ask nothing: take these flags, else what is set, else defaults. Needed where there is no terminal."`

	Adapters kong.Plugins `embed:""` // the flags of each of setups

	NoTurn    bool `help:"Ask Claude nothing, which costs a little."`
	NoService bool `help:"Install no service; the gateway is started in the background."`
	NoStart   bool `help:"Start nothing, where there is no service."`
	NoDoctor  bool `help:"Skip the final check."`

	Heartbeat   string `enum:"yes,revive,no," default:"" placeholder:"CHOICE" help:"The heartbeat: yes asks Claude regularly, which is billed or counts against your plan's limits; revive only starts a gateway that is down, and costs nothing; no. Without it a script installs none."`
	NoHeartbeat bool   `help:"The same as --heartbeat=no."`

	setups []*adapters.Setup
}

// New returns the command.
func New() Init {
	var i Init
	for _, k := range kinds.All() {
		if k.Setup == nil {
			continue
		}
		s := k.Setup()
		i.setups = append(i.setups, s)
		i.Adapters = append(i.Adapters, s.Flags)
	}
	return i
}

// Run runs the command.
func (i *Init) Run(c *command.Context) error {
	in, _ := c.In.(*os.File)
	if !i.Yes && !term.IsTerminal(c.In) {
		return command.Usagef("init asks, and standard input is not a terminal; in a script use: bareclaw init --yes")
	}
	if i.NoHeartbeat && i.Heartbeat != "" && i.Heartbeat != HeartbeatNo {
		return command.Usagef("--no-heartbeat and --heartbeat=%s cannot go together", i.Heartbeat)
	} else if i.NoHeartbeat {
		i.Heartbeat = HeartbeatNo
	}
	settings, err := i.settings(c.In)
	if err != nil {
		return err
	}
	out := c.Out
	if i.JSON {
		out = c.Err
	}
	if i.Yes {
		in = nil
	}
	w := &wizard{
		Init:     i,
		setups:   i.setups,
		c:        c,
		service:  service.Local(),
		terminal: newTerminal(in, out),
		store:    store{environ: c.Environ, onCommandLine: settings, choices: map[string]string{}},
	}
	defer w.restore()
	summary, err := w.run(c.Context)
	if i.JSON && len(summary.Steps) > 0 {
		if err := c.PrintJSON(summary); err != nil {
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
	files := map[string]string{varHTTP: i.HTTPTokenFile, varLogin: i.LoginTokenFile}
	values := map[string]string{
		varClaude: i.Claude, varAgent: i.Agent, varPort: i.Port, varCWD: i.CWD, varZone: i.TZ, "BARECLAW_SOURCE": i.Source,
		varHTTP: i.HTTPToken,
	}
	for _, s := range i.setups {
		maps.Copy(files, s.SecretFiles())
		maps.Copy(values, s.Values())
	}
	piped := 0
	for _, path := range files {
		if path == "-" {
			piped++
		}
	}
	if piped > 1 {
		return nil, &config.Problem{
			Source:   "the options that name a file with a token",
			Problem:  "more than one is standard input",
			Accepted: "- for one of them",
		}
	}
	for name, path := range files {
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
		check := config.Check
		if name == varLogin {
			check = func(_, value string) error { return checkLoginToken(value) }
		}
		if err := check(name, value); err != nil {
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

// An Outcome is the result of a step of a run.
type Outcome struct {
	Step string `json:"step"`
	steps.Outcome
}

// A Summary is the result of all steps.
type Summary struct {
	OK      bool      `json:"ok"` // no step failed
	EnvFile string    `json:"env_file"`
	Steps   []Outcome `json:"steps"`
	Bot     string    `json:"bot,omitempty"`   // user name of the bot, where there is one
	Owner   int64     `json:"owner,omitempty"` // id of the person admitted in this run
	Running bool      `json:"running"`         // the gateway answers
}

func failure(err error) steps.Outcome {
	if o, ok := errors.AsType[steps.Outcome](err); ok {
		return o
	}
	return steps.Trouble(err.Error(), "")
}

// access takes from the adapters how a person reaches the gateway.
func (s *Summary) access(setups []*adapters.Setup) {
	for _, setup := range setups {
		a := setup.Access()
		s.Bot = cmp.Or(s.Bot, a.Bot)
		s.Owner = cmp.Or(s.Owner, a.Owner)
	}
}
