package capture

import "errors"

// ErrFinished is the error of Next when nothing is left to look at after Finish.
var ErrFinished = errors.New("the app has ended, and no request is left")

// Finish says that no request and no signal will come any more. What has ended is masked at once, and what waits for telemetry
// is looked at once more as it is. Run must have returned before.
func (s *Store) Finish() {
	for len(s.queue) > 0 {
		s.keepNext(<-s.queue)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks.finish()
}

// finish makes all records ready that are planned. None is settled by that: what is missing may have been lost with the app,
// and proves nothing.
func (l *looks) finish() {
	l.finished = true
	for len(l.schedule) > 0 {
		rec := l.schedule[0]
		l.unplan(rec)
		l.push(rec)
	}
	l.notify()
}

// isFinished reports whether Finish was called.
func (s *Store) isFinished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks.finished
}
