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
	"sync"

	tea "charm.land/bubbletea/v2"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/term"
)

// Options configure a chat.
type Options struct {
	Channel  string
	User     string         // the speaker's name, for claude; may be empty
	Client   *client.Client // of the gateway
	Decider  *client.Client // of the gateway, with permission to decide approvals
	In       io.Reader
	Terminal *os.File
	Coloured bool // whether colours are used
}

// Run runs the chat until the user leaves or ctx ends. A running turn continues.
func Run(ctx context.Context, o Options) error {
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g := &gateway{o: o}
	first, err := g.arrive(ctx)
	if err != nil {
		return err
	}
	// Ctrl-C is a key in the chat: Ctrl-C stops claude and not the chat.
	screen := &screen{File: o.Terminal, drawn: make(chan struct{})}
	width, _ := term.Columns(o.Terminal)
	m := newModel(ctx, g, first, width)
	for _, l := range greeting(o.Channel, first) {
		_, _ = fmt.Fprintln(o.Terminal, m.render(l)) // the next write fails too
	}
	p := tea.NewProgram(m, tea.WithInput(o.In), tea.WithOutput(screen), tea.WithoutSignalHandler())
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
		_, errPrint := fmt.Fprintf(o.Terminal, "The turn goes on. See its answer with: bareclaw chat %s\n", o.Channel)
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
