package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
)

// spinnerTick is the time between two pictures of a spinner.
const spinnerTick = 120 * time.Millisecond

// A spinner is a line at the bottom of a terminal that says what is being waited for
// and for how long. Where there is no terminal it shows nothing. It may be used by
// several goroutines.
type spinner struct {
	w     io.Writer
	shown bool // the terminal shows it

	began time.Time
	stop  chan struct{} // closed by end; nil without a terminal
	ended chan struct{} // closed when the goroutine has ended

	mu   sync.Mutex // protects what follows, and what is written to w
	text string
	tick int
}

// spin begins a spinner on w, which its end removes.
func spin(w io.Writer, text string) *spinner {
	s := &spinner{w: w, text: text, began: time.Now()}
	if _, terminal := term.Columns(w); !terminal {
		return s
	}
	s.stop, s.ended = make(chan struct{}), make(chan struct{})
	go s.run() // until end
	return s
}

// visible reports whether the spinner is on a terminal.
func (s *spinner) visible() bool { return s.stop != nil }

// show says what is being waited for now.
func (s *spinner) show(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
}

// say prints a line that stays, above the spinner.
func (s *spinner) say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	_, _ = fmt.Fprintln(s.w, line)
}

// end removes the spinner, and may be called again.
func (s *spinner) end() {
	if s.stop == nil {
		return
	}
	close(s.stop)
	<-s.ended
	s.stop = nil
}

func (s *spinner) run() {
	defer close(s.ended)
	ticks := time.NewTicker(spinnerTick)
	defer ticks.Stop()
	for {
		select {
		case <-s.stop:
			s.mu.Lock()
			defer s.mu.Unlock()
			s.clear()
			return
		case <-ticks.C:
			s.draw()
		}
	}
}

func (s *spinner) draw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	pictures := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	picture := pictures[s.tick%len(pictures)]
	s.tick++
	width, _ := term.Columns(s.w)
	line := fmt.Sprintf("%c %s  %s", picture, humanize.Age(s.began, time.Now()), term.SafeLine(s.text))
	_, _ = fmt.Fprint(s.w, "\r\x1b[K"+fit(line, width-1))
	s.shown = true
}

// clear removes the line; the lock is held.
func (s *spinner) clear() {
	if s.shown {
		_, _ = fmt.Fprint(s.w, "\r\x1b[K")
		s.shown = false
	}
}
