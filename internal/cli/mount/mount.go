// Package mount has the commands that mount MCP servers of other people, whose tools the gateway then offers.
package mount

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core/config"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/lockfile"
	"bareclaw/mcp/mounts"
)

// Commands are the commands about mounted servers.
type Commands struct {
	Add    Add    `cmd:"" help:"Mount a server: every chat has its tools then."`
	List   List   `cmd:"" default:"withargs" help:"List the mounted servers, and how they do."`
	Test   Test   `cmd:"" help:"Start a server, and list its tools."`
	Remove Remove `cmd:"" help:"Take a server out again."`
}

// errInSession refuses to change which programs the gateway runs.
var errInSession = errors.New("a session cannot mount, test or remove servers, which are programs that the gateway runs; a person does it in a terminal")

// A place is where the mounted servers are described.
type place struct {
	cfg  config.Config
	path string
	file *mounts.File
	lock *os.File // against other commands that change the file; nil: it is only read
}

// lockName is the file whose lock a command takes before it reads the file of mounted servers to change it.
const lockName = ".mcp.lock"

// find returns the place, without the file.
func find(c *command.Context) (*place, error) {
	cfg, err := c.Config()
	if err != nil {
		return nil, err
	}
	return &place{cfg: cfg, path: filepath.Join(cfg.ConfigDir, mounts.FileName)}, nil
}

// open reads the file of mounted servers, which need not exist.
func open(c *command.Context) (*place, error) {
	p, err := find(c)
	if err != nil {
		return nil, err
	}
	p.file, err = mounts.Read(p.path)
	return p, err
}

// openToChange is open for a command that writes the file, which others must not change until then.
func openToChange(c *command.Context) (*place, error) {
	if command.InSession() {
		return nil, errInSession
	}
	p, err := find(c)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(p.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the settings: %w", err)
	}
	if p.lock, err = lockfile.Open(filepath.Join(dir, lockName), lockfile.Acquire); err != nil {
		return nil, fmt.Errorf("change the file of mounted servers: %w", err)
	}
	p.file, err = mounts.Read(p.path)
	return p, err
}

// openOutside is open for a command that sessions must not use.
func openOutside(c *command.Context) (*place, error) {
	if command.InSession() {
		return nil, errInSession
	}
	return open(c)
}

// write writes the file, which others may change from then on.
func (p *place) write() error {
	defer func() { _ = p.lock.Close() }() // which also ends with the command
	return p.file.Write(p.path)
}

// refuse returns why a server cannot be mounted, as far as that is known before it is started.
func (p *place) refuse(s *mounts.Server) error {
	listens := mounts.Gateway{Host: string(p.cfg.HTTP.Host), Port: int(p.cfg.HTTP.Port)}
	if err := listens.Refuse(s); err != nil {
		return fmt.Errorf("server %q: %w", s.Name, err)
	}
	if s.CWD == "" || strings.Contains(s.CWD, "${") { // is known when it is used
		return nil
	}
	if info, err := os.Stat(s.CWD); err != nil || !info.IsDir() {
		return fmt.Errorf("--cwd: there is no directory %q", s.CWD)
	}
	return nil
}

// missing returns an error for a name that no server has.
func (p *place) missing(name string) error {
	names := p.file.Names()
	if len(names) == 0 {
		return fmt.Errorf("there is no mounted server %q, nor any other; `bareclaw mount add` mounts one", name)
	}
	return fmt.Errorf("there is no mounted server %q; there are: %s", name, strings.Join(names, ", "))
}

// Names returns the names of the servers in the file.
func Names(c *command.Context) ([]string, error) {
	if command.InSession() {
		return nil, errInSession
	}
	p, err := open(c)
	if err != nil {
		return nil, err
	}
	return p.file.Names(), nil
}

// probe has a server list its tools while no gateway runs.
func (p *place) probe(ctx context.Context, s *mounts.Server) (*api.Mount, error) {
	listed, err := mounts.Probe(ctx, *s, string(p.cfg.Files.CWD), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	m := &api.Mount{
		Name:      s.Name,
		State:     api.MountIdle,
		Target:    s.Target(),
		Scope:     string(cmp.Or(s.Scope, mounts.Shared)),
		Category:  string(s.CategoryOf()),
		Tools:     len(listed),
		Instances: []api.MountInstance{},
		ToolList:  make([]api.MountTool, 0, len(listed)),
	}
	for _, t := range listed {
		if t.Asks {
			m.Asks++
		}
		m.ToolList = append(m.ToolList, api.MountTool(t))
	}
	return m, nil
}

// summary says in a line what a server offers, and how much of that asks a person.
func summary(m *api.Mount) string {
	tools := fmt.Sprintf("%s: %d tools", m.Name, m.Tools)
	if m.Tools == 1 {
		tools = m.Name + ": 1 tool"
	}
	const lets = "; --allow 'get_*' lets those run unasked whose names begin with get_"
	switch {
	case m.Tools == 0:
		return m.Name + ": it has no tools."
	case m.Asks == 0 && m.Tools == 1:
		return tools + ", which runs unasked."
	case m.Asks == 0:
		return tools + ", which all run unasked."
	case m.Tools == 1:
		return tools + ", which asks a person before it runs."
	case m.Asks == m.Tools:
		return fmt.Sprintf("%s, all %d ask a person before they run%s.", tools, m.Asks, lets)
	case m.Asks == 1:
		return tools + ", of which 1 asks a person before it runs."
	}
	return fmt.Sprintf("%s, of which %d ask a person before they run.", tools, m.Asks)
}

// advice says what to do about a server that does not start, as a further sentence; empty if nothing is known.
func (p *place) advice(problem error) string {
	if !mounts.IsMissing(problem.Error()) {
		return ""
	}
	return " Write them into " + p.dotEnv() + ", as NAME=VALUE, and then `bareclaw restart`."
}

// dotEnv returns the path of the user's file of settings.
func (p *place) dotEnv() string { return filepath.Join(p.cfg.ConfigDir, ".env") }

// ofTerminal returns the variables of a server that this terminal has, and no file of settings.
func (p *place) ofTerminal(c *command.Context, s *mounts.Server) []string {
	kept := map[string]string{}
	here, users, err := config.DotEnvFiles(c.Role)
	for _, file := range []string{here, users} {
		if vars, errFile := config.ReadDotEnv(file); err == nil && errFile == nil {
			maps.Copy(kept, vars)
		}
	}
	_, err = s.Expanded(func(name string) (string, bool) {
		value, ok := kept[name]
		if !ok && slices.Contains(mounts.PassedOn(), name) { // which every gateway has
			value, ok = os.LookupEnv(name)
		}
		return value, ok
	})
	if missing, ok := errors.AsType[*mounts.MissingError](err); ok {
		return missing.Variables
	}
	return nil
}
