package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/heartbeat"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/cli/bridge"
	"bareclaw/internal/cli/command"
)

// An mcp passes messages between an MCP client, which starts this command, and the gateway.
type mcp struct {
	Bag *string `placeholder:"NAME" help:"Offer the tools of a bag alone: those of a category, such as browser, or of a bag that you have named."`
	Dir string  `type:"existingdir" placeholder:"PATH" help:"The directory whose .env says which gateway, where a gateway has read it before; your home directory unless it is given."`
}

// Help is shown below the summary.
func (*mcp) Help() string {
	return "A client starts this command and speaks MCP on its standard input and output; the gateway need not run. Claude Code is told of it with\n\n" +
		"  claude mcp add bareclaw -- bareclaw mcp\n\n" +
		"and other clients with {\"mcpServers\": {\"bareclaw\": {\"command\": \"bareclaw\", \"args\": [\"mcp\"]}}}.\n\n" +
		"A restart of the gateway meanwhile does no harm. A gateway that you have stopped stays so. The command ends with its input."
}

// Validate refuses a bag without a name, such as that of a variable that is not set: all tools would be offered.
func (m *mcp) Validate() error {
	if m.Bag != nil && strings.TrimSpace(*m.Bag) == "" {
		return command.Usagef("--bag needs the name of a bag; leave --bag out for all tools")
	}
	return nil
}

// Run runs the command.
func (m *mcp) Run(c *command.Context) error {
	if err := m.enter(); err != nil {
		return err
	}
	gateway, err := c.Client()
	if err != nil {
		return err
	}
	b := &bridge.Bridge{
		Gateway: gateway,
		Out:     c.Out,
	}
	if m.Bag != nil {
		b.Path = api.BagPath(*m.Bag)
	}
	if !command.InSession() { // else the gateway runs
		b.Revive = func(ctx context.Context) error { return revive(ctx, c) }
	}
	return b.Run(c.Context, c.In)
}

// enter leaves the directory in which the client has started this command: that of whatever
// project is open, whose .env must not say what runs as the user.
func (m *mcp) enter() (err error) {
	dir := m.Dir
	if dir == "" {
		if dir, err = os.UserHomeDir(); err != nil {
			return fmt.Errorf("find the home directory; --dir names another one: %w", err)
		}
	}
	if err := os.Chdir(dir); err != nil {
		return fmt.Errorf("enter the directory of the settings: %w", err)
	}
	return nil
}

// revive starts the gateway if it is down, unless a person has stopped it.
func revive(ctx context.Context, c *command.Context) error {
	cfg, err := c.Config()
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	return heartbeat.Revive(ctx, heartbeat.Options{
		Config:     cfg,
		Service:    service.Local(),
		Self:       c.Self,
		Dir:        dir,
		Environ:    c.Environ,
		StartLimit: heartbeat.StartLimit,
		Out:        c.Err,
	})
}
