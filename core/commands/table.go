package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"bareclaw/internal/wait"
)

// A Table has the commands of the gateway: some for ever, and those of its lists, which change while the
// gateway runs. All methods are safe for concurrent use.
type Table struct {
	fixed []Command
	help  Command

	mu      sync.RWMutex // guards the fields below and the rows of the lists
	lists   []*List
	all     []Command // another array after each change
	version int64     // counts the changes
	watches []wait.Signal
}

// A List has rows of a table that change. It is empty at first. All methods are safe for concurrent use.
type List struct {
	table *Table
	rows  []Command // guarded by the table
}

// NewTable returns the table of commands, with /help as the last one. NewTable refuses two commands
// of one name, a command that answers no call, and an access that is none or would not count.
func NewTable(all ...Command) (*Table, error) {
	t := &Table{fixed: slices.Clone(all)}
	t.help = Command{
		Name:   "help",
		Help:   "what you can do here",
		Access: Reads,
		Show:   t.showHelp,
	}
	t.all = t.with(nil, nil)
	if err := checkAll(t.all); err != nil {
		return nil, err
	}
	return t, nil
}

// NewList returns a list, whose rows stand behind those of the lists before.
func (t *Table) NewList() *List {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &List{table: t}
	t.lists = append(t.lists, l)
	return l
}

// Replace replaces all rows of the list. It changes nothing and returns an error if a row is none that
// NewTable takes, or has the name of another command of the table.
func (l *List) Replace(rows ...Command) error {
	t := l.table
	t.mu.Lock()
	defer t.mu.Unlock()
	next := t.with(l, rows)
	if err := checkAll(next); err != nil {
		return err
	}
	l.rows = slices.Clone(rows)
	t.all = next
	t.version++
	for _, w := range t.watches {
		w.Send()
	}
	return nil
}

// with returns all commands, with other rows of one of the lists. The caller holds the lock.
func (t *Table) with(l *List, rows []Command) []Command {
	all := slices.Clone(t.fixed)
	for _, other := range t.lists {
		if other == l {
			all = append(all, rows...)
		} else {
			all = append(all, other.rows...)
		}
	}
	return append(all, t.help)
}

// checkAll returns an error for commands that cannot stand in one table.
func checkAll(all []Command) error {
	for i := range all {
		c := &all[i]
		if find(all, c.Name) != c {
			return fmt.Errorf("the command /%s is defined twice", c.Name)
		}
		if err := c.check(); err != nil {
			return err
		}
	}
	return nil
}

// All returns the commands in the order of menus, to be treated as read-only.
func (t *Table) All() []Command {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.all
}

// Version returns a number that is another one after each change.
func (t *Table) Version() int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.version
}

// Watch returns a signal that is sent after each change.
func (t *Table) Watch() wait.Signal {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := wait.NewSignal()
	t.watches = append(t.watches, w)
	return w
}

// Find returns the command with a name, whose letters may be of either case. The command is to be
// treated as read-only.
func (t *Table) Find(name string) (*Command, bool) {
	c := find(t.All(), name)
	return c, c != nil
}

// find returns the command with a name; nil: there is none.
func find(all []Command, name string) *Command {
	for i := range all {
		if strings.EqualFold(all[i].Name, name) {
			return &all[i]
		}
	}
	return nil
}

func (t *Table) showHelp(context.Context, Call) (Note, error) {
	return Note{Text: Help(t.All())}, nil
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
