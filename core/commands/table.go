package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A Table has the commands of the gateway. A table does not change.
type Table struct{ all []Command }

// NewTable returns the table of commands, with /help as the last one. NewTable refuses two commands
// of one name, a command without Show and Run, and an access that is none or would not count.
func NewTable(all ...Command) (*Table, error) {
	t := &Table{}
	help := Command{
		Name:   "help",
		Help:   "what you can do here",
		Access: Reads,
		Show:   t.help,
	}
	t.all = append(slices.Clone(all), help)
	for i := range t.all {
		c := &t.all[i]
		first, _ := t.Find(c.Name)
		if first != c {
			return nil, fmt.Errorf("the command /%s is defined twice", c.Name)
		}
		if err := c.check(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// All returns the commands in the order of menus, to be treated as read-only.
func (t *Table) All() []Command { return t.all }

// Find returns the command with a name, whose letters may be of either case.
func (t *Table) Find(name string) (*Command, bool) {
	for i := range t.all {
		c := &t.all[i]
		if strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return nil, false
}

func (t *Table) help(context.Context, Call) (Note, error) {
	return Note{Text: Help(t.all)}, nil
}

// Help returns the text of /help for commands.
func Help(all []Command) string {
	var b strings.Builder
	b.WriteString("Write to Claude as you would to a person. The gateway's own commands:\n\n")
	for i := range all {
		c := &all[i]
		b.WriteString("/" + c.Name + " – " + c.Help + "\n")
	}
	b.WriteString("\nEvery other command, such as /compact, goes to Claude.")
	return b.String()
}
