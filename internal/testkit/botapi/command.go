package botapi

import (
	"regexp"

	"bareclaw/internal/testkit/botapi/richtext"
)

const (
	maxCommands    = 100 // core.telegram.org/bots/api#setmycommands
	maxDescription = 256 // core.telegram.org/bots/api#botcommand
)

var commandName = regexp.MustCompile(`^[a-z0-9_]{1,32}$`) // same place

// command is an entry of the menu.
type command struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

// Commands returns the names in the menu that everybody sees, in order.
func (s *Server) Commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, c := range s.commands[""] {
		names = append(names, c.Command)
	}
	return names
}

// menu names whose menu a call is about: "" is everybody's.
func (r *request) menu() string { return r.text("scope") + r.text("language_code") }

// setMyCommands: core.telegram.org/bots/api#setmycommands
func (r *request) setMyCommands() (any, error) {
	var list []command
	r.decode("commands", &list)
	if len(list) > maxCommands {
		return nil, bad("BOT_COMMANDS_TOO_MUCH")
	}
	for _, c := range list {
		switch {
		case !commandName.MatchString(c.Command):
			return nil, bad("BOT_COMMAND_INVALID")
		case c.Description == "" || richtext.Length(c.Description) > maxDescription:
			return nil, bad("BOT_COMMAND_DESCRIPTION_INVALID")
		}
	}
	r.s.commands[r.menu()] = list
	return true, nil
}

// getMyCommands: core.telegram.org/bots/api#getmycommands
func (r *request) getMyCommands() (any, error) {
	return append([]command{}, r.s.commands[r.menu()]...), nil
}
