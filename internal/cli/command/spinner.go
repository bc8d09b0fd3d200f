package command

import (
	"fmt"
	"io"
	"sync"
	"time"

	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
)

// spinnerTick is the time between two frames of a spinner.
const spinnerTick = 120 * time.Millisecond

// A Spinner is a line at the bottom of a terminal that names what a command waits for,
// and for how long. Without a terminal a Spinner shows nothing. Its methods but End are
// safe for concurrent use.
type Spinner struct {
	w     io.Writer
	shown bool // on the terminal

	began time.Time
	stop  chan struct{} // closed by end; nil without a terminal
	ended chan struct{} // closed when the goroutine has ended

	mu   sync.Mutex // protects the fields below and writes to w
	text string
	tick int
}

// StartSpinner shows a spinner on w until End.
func StartSpinner(w io.Writer, text string) *Spinner {
	s := &Spinner{w: w, text: text, began: time.Now()}
	if _, terminal := term.Columns(w); !terminal {
		return s
	}
	s.stop, s.ended = make(chan struct{}), make(chan struct{})
	go s.run() // until end
	return s
}

// Visible reports whether the spinner is on a terminal.
func (s *Spinner) Visible() bool { return s.stop != nil }

// Show replaces the text.
func (s *Spinner) Show(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
}

// Say prints a permanent line above the spinner.
func (s *Spinner) Say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	_, _ = fmt.Fprintln(s.w, line)
}

// End removes the spinner. Further calls do nothing.
func (s *Spinner) End() {
	if s.stop == nil {
		return
	}
	close(s.stop)
	<-s.ended
	s.stop = nil
}

func (s *Spinner) run() {
	defer close(s.ended)
	for ticks := time.Tick(spinnerTick); ; {
		select {
		case <-s.stop:
			s.mu.Lock()
			defer s.mu.Unlock()
			s.clear()
			return
		case <-ticks:
			s.draw()
		}
	}
}

func (s *Spinner) draw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	frame := frames[s.tick%len(frames)]
	s.tick++
	width, _ := term.Columns(s.w)
	line := fmt.Sprintf("%c %s  %s", frame, humanize.Age(s.began, time.Now()), term.SafeLine(s.text))
	_, _ = fmt.Fprint(s.w, "\r\x1b[K"+Fit(line, width-1))
	s.shown = true
}

// clear removes the line. The caller holds the lock.
func (s *Spinner) clear() {
	if s.shown {
		_, _ = fmt.Fprint(s.w, "\r\x1b[K")
		s.shown = false
	}
}
