package mount

import (
	"fmt"
	"os"
	"slices"

	"bareclaw/internal/cli/command"
	"bareclaw/internal/term"
	"bareclaw/mcp/mounts"
	"bareclaw/sessionhost/claude"
)

// warnOfAllTwins warns of each server of the file that claude starts as well.
func warnOfAllTwins(c *command.Context) {
	p, err := open(c)
	if err != nil {
		return // which was told, or will be by the next command
	}
	for _, name := range p.file.Names() {
		if server, err := p.file.Server(name); err == nil && !server.Disabled {
			p.warnOfTwins(c, &server)
		}
	}
}

// warnOfTwins warns if claude's own configuration starts a server as well, whose tools then exist twice.
func (p *place) warnOfTwins(c *command.Context, server *mounts.Server) {
	home, err := os.UserHomeDir()
	if err != nil {
		return
	}
	for _, own := range claude.OwnServers(string(p.cfg.Files.CWD), os.Getenv("CLAUDE_CONFIG_DIR"), home) {
		if isTwin(server, &own) {
			warning := fmt.Sprintf("Claude starts the same server as %s in each of its sessions, as %q in %s: it exists twice then, and so do its tools. `claude mcp remove %[2]s` takes that one out.",
				server.Name, own.Name, own.File)
			c.Tellf("%s", term.WrapIndented(c.Err, "", term.SafeLine(warning)))
		}
	}
}

// isTwin reports whether two descriptions start the same server.
func isTwin(server *mounts.Server, own *claude.OwnServer) bool {
	if server.URL != "" {
		return server.URL == own.URL
	}
	return server.Command == own.Command && slices.Equal(server.Args, own.Args)
}
