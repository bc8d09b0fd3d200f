package mount

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/tools"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/term"
	"bareclaw/mcp/mounts"
)

// patience is how long add waits for the gateway to learn the tools of a server.
const patience = 90 * time.Second

// Add mounts a server.
type Add struct {
	Name   string   `arg:"" help:"Its name, which begins the names of its tools."`
	Server []string `arg:"" name:"server" help:"The program and its arguments, after --; or the URL of a server that runs elsewhere."`

	Env      []string        `short:"e" sep:"none" placeholder:"NAME=VALUE" help:"A variable of the program. NAME alone is the gateway's variable of this name."`
	Header   []string        `short:"H" sep:"none" placeholder:"NAME=VALUE" help:"A header of requests to the URL, such as 'Authorization=Bearer $${TOKEN}'."`
	CWD      string          `name:"cwd" placeholder:"DIR" help:"The directory in which the program runs; that of the sessions unless it is given."`
	Allow    []string        `sep:"none" placeholder:"PATTERN" help:"Tools that run unasked, by their names at the server: 'get_*'. read-only stands for those that say that they change nothing, and is what holds if none is given."`
	Category string          `placeholder:"NAME" help:"What its tools are for, such as browser, database or github."`
	Prefix   *string         `placeholder:"TEXT" help:"What begins the names of its tools; NAME_ unless it is given."`
	Scope    mounts.Scope    `placeholder:"SCOPE" help:"caller: each channel has an instance of its own, such as a browser. shared is usual."`
	Idle     mounts.Duration `placeholder:"DURATION" help:"After which a server ends that nobody uses."`
	Timeout  mounts.Duration `placeholder:"DURATION" help:"That a call may take."`
	Replace  bool            `help:"Put it in the place of the server that has the name."`
	JSON     bool            `name:"json" help:"Print JSON."`
}

// Help is shown below the summary.
func (*Add) Help() string {
	return "The gateway starts the server once to learn its tools, and then whenever they are called. A tool asks a person before it runs, unless it says that it only reads or --allow names it. " +
		"A secret belongs into the gateway's .env, and is named here: --env TOKEN.\n\n" +
		"Examples:\n\n  bareclaw mount add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes\n\n" +
		"  bareclaw mount add github --env GITHUB_PERSONAL_ACCESS_TOKEN --allow 'get_*' -- npx -y @modelcontextprotocol/server-github\n\n" +
		"  bareclaw mount add docs https://example.org/mcp --header 'Authorization=Bearer ${DOCS_TOKEN}'"
}

// Run runs the command.
func (a *Add) Run(c *command.Context) error {
	p, err := openToChange(c)
	if err != nil {
		return err
	}
	server, err := a.server(c.Dir)
	if err != nil {
		return err
	}
	if slices.Contains(p.file.Names(), a.Name) && !a.Replace {
		return fmt.Errorf("there is a mounted server %q already; `bareclaw mount remove %[1]s` takes it out, and --replace puts this one in its place", a.Name)
	}
	if err := p.file.Put(*server); err != nil {
		return command.Usagef("%w", err)
	}
	if err := p.refuse(server); err != nil {
		return command.Usagef("%w", err)
	}
	if err := p.write(); err != nil {
		return err
	}
	p.warnOfTwins(c, server)
	learned, err := a.learn(c, p, server)
	switch {
	case c.Context.Err() != nil:
		c.Tellf("The server stays in %s; `bareclaw mount remove %s` takes it out.", term.SafeLine(p.path), a.Name)
		return context.Cause(c.Context)
	case err != nil:
		retries := "the gateway tries it again"
		if _, ok := errors.AsType[*probeError](err); ok {
			retries = "a gateway that starts tries it again"
		}
		return fmt.Errorf("%w.%s The server stays in %s, and %s; `bareclaw mount remove %s` takes it out",
			withoutStop(err), p.advice(err), p.path, retries, a.Name)
	}
	if a.JSON {
		return c.PrintJSON(learned)
	}
	return c.PrintLines(append([]string{term.SafeLine(summary(learned))}, remarks(learned)...)...)
}

// A stopless is an error whose sentence another one follows in a text: it lacks its full stop.
type stopless struct{ error }

// Error returns the text without a full stop.
func (e stopless) Error() string { return mdtext.Stopless(e.error.Error()) }

// Unwrap returns the error.
func (e stopless) Unwrap() error { return e.error }

// A probeError says why a server has not listed its tools while no gateway runs.
type probeError struct {
	server string
	cause  error
}

// Error implements error.
func (e *probeError) Error() string {
	return fmt.Sprintf("the server %s does not start: %s", e.server, e.cause)
}

// Unwrap returns the cause.
func (e *probeError) Unwrap() error { return e.cause }

func withoutStop(err error) error { return stopless{err} }

// learn returns what the server offers: as the gateway has learned, or where none runs as the server lists.
func (a *Add) learn(c *command.Context, p *place, server *mounts.Server) (*api.Mount, error) {
	gateway, err := c.LiveClient()
	if err != nil {
		return nil, err
	}
	wheel := command.StartReminder(c.Err, "Starting "+a.Name, "The server "+a.Name+" is being started, since %s.")
	defer wheel.End()
	learned, err := a.await(c, gateway, p)
	if !errors.Is(err, client.ErrUnreachable) {
		return learned, err
	}
	if learned, err = p.probe(c.Context, server); err != nil {
		return nil, &probeError{
			server: a.Name,
			cause:  err,
		}
	}
	if names := p.ofTerminal(c, server); len(names) > 0 {
		wheel.End()
		c.Tellf("%s", term.WrapIndented(c.Err, "", fmt.Sprintf("This terminal has %s, and a gateway that a service starts does not: write that into %s, as NAME=VALUE.",
			strings.Join(names, ", "), term.SafeLine(p.dotEnv()))))
	}
	return learned, nil
}

// await waits until the gateway has read the file, and knows the server's tools or why it does not.
func (a *Add) await(c *command.Context, gateway *client.Client, p *place) (learned *api.Mount, err error) {
	ctx, cancel := context.WithTimeoutCause(c.Context, patience, fmt.Errorf("the server %s has not started within %s", a.Name, patience))
	defer cancel()
	err = p.awaitRead(ctx, c, gateway, func(now *api.Mounts) (bool, error) {
		var err error
		learned, err = learnedOf(now, a.Name)
		return learned != nil, err
	})
	return learned, err
}

// learnedOf returns a server whose tools are known; nil for one that is being started. The error says why they will
// not be known soon.
func learnedOf(now *api.Mounts, name string) (*api.Mount, error) {
	i := slices.IndexFunc(now.Mounts, func(m api.Mount) bool { return m.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("the gateway does not know the server %s: it has another file, or somebody has just removed the server", name)
	}
	switch m := &now.Mounts[i]; m.State {
	case api.MountFailing, api.MountUnusable:
		return nil, fmt.Errorf("the server %s does not start: %s", name, m.Problem)
	case api.MountStarting:
		return nil, nil
	case api.MountRunning:
		if m.Since.IsZero() { // its first list is under way
			return nil, nil
		}
		return m, nil
	default:
		return m, nil
	}
}

// server returns the server that the arguments describe, for a command that was called in a directory.
func (a *Add) server(dir string) (*mounts.Server, error) {
	s := &mounts.Server{
		Name:     a.Name,
		Allow:    a.Allow,
		Category: tools.Category(a.Category),
		Prefix:   a.Prefix,
		Scope:    a.Scope,
		Idle:     a.Idle,
		Timeout:  a.Timeout,
	}
	if first := a.Server[0]; urlForm().MatchString(first) {
		s.URL = first
	} else {
		s.Command = fromDir(dir, first)
		s.Args = a.Server[1:]
	}
	switch {
	case s.URL != "" && len(a.Server) > 1:
		return nil, command.Usagef("a server with a URL has no arguments: %s", a.Server[1])
	case s.URL != "" && len(a.Env)+len(a.CWD) > 0:
		return nil, command.Usagef("--env and --cwd are for a program; a server with a URL has --header")
	case s.Command != "" && len(a.Header) > 0:
		return nil, command.Usagef("--header is for a server with a URL; a program has --env")
	case a.CWD != "":
		s.CWD = filepath.Join(dir, a.CWD)
		if filepath.IsAbs(a.CWD) {
			s.CWD = filepath.Clean(a.CWD)
		}
	}
	var err error
	if s.Env, err = variables(a.Env); err == nil {
		s.Headers, err = headers(a.Header)
	}
	return s, err
}

// urlForm is how a URL begins, also one of a scheme that is refused.
var urlForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`) })

// fromDir returns a program that was named in a directory so that it is found from all: with its directory, unless it
// is looked for in PATH.
func fromDir(dir, program string) string {
	if filepath.IsAbs(program) || !strings.ContainsRune(program, filepath.Separator) || strings.HasPrefix(program, "${") {
		return program
	}
	return filepath.Join(dir, program)
}

var variableForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// variables returns the variables in texts of the form NAME=VALUE, or NAME for the gateway's variable.
func variables(all []string) (map[string]string, error) {
	env := make(map[string]string, len(all))
	for _, text := range all {
		name, value, given := strings.Cut(text, "=")
		if !variableForm().MatchString(name) {
			return nil, command.Usagef("--env is NAME=VALUE, or NAME for the gateway's variable; a name is letters, digits and _")
		}
		if !given {
			value = "${" + name + "}"
		}
		env[name] = value
	}
	return env, nil
}

var headerForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z0-9-]+)(?:=|:\s*)(.*)$`) })

// headers returns the headers in texts of the form NAME=VALUE or NAME: VALUE.
func headers(all []string) (map[string]string, error) {
	fields := make(map[string]string, len(all))
	for _, text := range all {
		parts := headerForm().FindStringSubmatch(text)
		if parts == nil {
			return nil, command.Usagef("--header is NAME=VALUE, such as 'Authorization=Bearer ${TOKEN}'")
		}
		fields[parts[1]] = parts[2]
	}
	return fields, nil
}
