package command

import (
	"fmt"
	"io"
	"sync"
	"time"

	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
)

const (
	// spinnerTick is the time between two frames of a spinner.
	spinnerTick = 120 * time.Millisecond
	// reminderTick is the time between two reminders where there is no terminal.
	reminderTick = 5 * time.Second
)

// A Spinner is a line at the bottom of a terminal that names what a command waits for,
// and for how long. Without a terminal a Spinner shows reminders, or nothing. Its methods
// but End are safe for concurrent use.
type Spinner struct {
	w     io.Writer
	shown bool // on the terminal

	began time.Time
	stop  chan struct{} // closed by end; nil if nothing is shown
	ended chan struct{} // closed when the goroutine has ended

	mu   sync.Mutex // protects the fields below and writes to w
	text string
}

// StartSpinner shows a spinner on w until End.
func StartSpinner(w io.Writer, text string) *Spinner { return StartReminder(w, text, "") }

// StartReminder is StartSpinner for a wait that may be long: if w is no terminal, the spinner
// prints the reminder every few seconds, with the elapsed time in the place of %s.
func StartReminder(w io.Writer, text, reminder string) *Spinner {
	s := &Spinner{w: w, text: text, began: time.Now()}
	tick, show := spinnerTick, s.draw
	if _, terminal := term.Columns(w); !terminal {
		tick, show = reminderTick, func() { s.Say(fmt.Sprintf(reminder, s.elapsed())) }
		if reminder == "" {
			return s
		}
	}
	s.stop, s.ended = make(chan struct{}), make(chan struct{})
	go s.run(tick, show) // until end
	return s
}

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

func (s *Spinner) run(tick time.Duration, show func()) {
	defer close(s.ended)
	for ticks := time.Tick(tick); ; {
		select {
		case <-s.stop:
			s.mu.Lock()
			defer s.mu.Unlock()
			s.clear()
			return
		case <-ticks:
			show()
		}
	}
}

func (s *Spinner) draw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	frame := frames[int(time.Since(s.began)/spinnerTick)%len(frames)]
	width, _ := term.Columns(s.w)
	line := fmt.Sprintf("%c %s  %s", frame, s.elapsed(), term.SafeLine(s.text))
	_, _ = fmt.Fprint(s.w, "\r\x1b[K"+Fit(line, width-1))
	s.shown = true
}

func (s *Spinner) elapsed() string {
	now := time.Now()
	if now.Sub(s.began) < time.Second {
		return "0s"
	}
	return humanize.Age(s.began, now)
}

// clear removes the line. The caller holds the lock.
func (s *Spinner) clear() {
	if s.shown {
		_, _ = fmt.Fprint(s.w, "\r\x1b[K")
		s.shown = false
	}
}
