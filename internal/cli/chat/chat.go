// Package chat runs a conversation on a channel of the gateway in a terminal. Complete texts
// go to the terminal's scrollback. The live rows below are redrawn: the text being written
// by claude, the pending question, and the prompt.
package chat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"sync"
	"syscall"

	tea "charm.land/bubbletea/v2"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/term"
)

// Chat is a conversation in the terminal.
type Chat struct {
	Channel string `arg:"" optional:"" default:"terminal" help:"The channel, ${default} if none is given. Each has a session of its own."`
}

// Run talks until the user leaves.
func (c *Chat) Run(ctx *command.Context, gate *client.Client) error {
	out, _ := ctx.Out.(*os.File)
	if !term.IsTerminal(ctx.In) || !term.IsTerminal(out) || os.Getenv("TERM") == "dumb" {
		return command.Usagef("chat needs a terminal that can move its cursor; in a script use: bareclaw send %s TEXT", c.Channel)
	}
	decider, err := ctx.Decider()
	if errors.Is(err, command.ErrInSession) { // the gateway refuses each decision
		decider.Client = gate
	} else if err != nil {
		return err
	}
	if err := command.ConfirmNew(ctx, gate, c.Channel); err != nil {
		return err
	}
	g := &gateway{Client: gate, decider: decider.Client, channel: c.Channel}
	if u, err := user.Current(); err == nil {
		g.user = u.Username
	}
	told, stop := signal.NotifyContext(ctx.Context, syscall.SIGTERM, syscall.SIGHUP) // g.chat restores the terminal first
	defer stop()
	return g.chat(told, ctx.In, out)
}

// chat runs the chat until the user leaves or outer ends. A running turn continues.
func (g *gateway) chat(outer context.Context, in io.Reader, terminal *os.File) error {
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	first, err := g.arrive(ctx)
	if err != nil {
		return err
	}
	// Ctrl-C is a key in the chat: Ctrl-C stops claude and not the chat.
	screen := &screen{File: terminal, drawn: make(chan struct{})}
	width, _ := term.Columns(terminal)
	m := newModel(ctx, g, first, width)
	m.coloured = term.PaletteFor(terminal).On
	for _, l := range greeting(g.channel, first) {
		_, _ = fmt.Fprintln(terminal, m.render(l)) // the next write fails too
	}
	p := tea.NewProgram(m, tea.WithInput(in), tea.WithOutput(screen), tea.WithoutSignalHandler())
	// Bubble Tea (v2.0.10) closes its input under the reader when its own context ends.
	stop := context.AfterFunc(ctx, func() { p.Send(ended{}) })
	defer stop()
	watched := make(chan struct{})
	go func() { // ends with ctx
		defer close(watched)
		select {
		case <-screen.drawn:
			g.watch(ctx, first.status.Turn, p.Send)
		case <-ctx.Done():
		}
	}()
	_, err = p.Run()
	cancel()
	<-watched
	if err != nil {
		return fmt.Errorf("run the terminal: %w", err)
	}
	err = outer.Err()
	if m.talk.busy() {
		_, errPrint := fmt.Fprintf(terminal, "The turn goes on. See its answer with: bareclaw chat %s\n", g.channel)
		err = errors.Join(err, errPrint)
	}
	return err
}

// A screen is the terminal of the chat. Lines for the scrollback are lost before the prompt
// is drawn for the first time.
type screen struct {
	*os.File
	once  sync.Once
	drawn chan struct{} // closed when the prompt is drawn
}

// Write writes to the terminal.
func (s *screen) Write(b []byte) (int, error) {
	n, err := s.File.Write(b)
	if bytes.Contains(b, []byte(prompt)) {
		s.once.Do(func() { close(s.drawn) })
	}
	return n, err
}
