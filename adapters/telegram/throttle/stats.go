package throttle

import (
	"errors"
	"time"
)

// PerClass is a number for each Class.
type PerClass [classes]uint64

// Stats are counts since New, and the present state.
type Stats struct {
	Sent      PerClass // done
	Failed    PerClass // ended by an error of Do, for good or abandoned
	Skipped   PerClass // replaced, dropped or withdrawn before the first try
	Retried   uint64   // failed tries to be repeated
	Limited   uint64   // tries with the verdict Wait
	Ambiguous uint64   // failed tries that may have arrived

	Waiting   [classes]int // not in flight
	InFlight  int
	Oldest    time.Time // creation of the oldest durable job; zero: none
	HeldChats int       // chats in a pause requested by Telegram
	HeldUntil time.Time // end of a pause of all jobs; zero: none
	Outage    int       // failures in a row of an outage; 0: no outage
}

// count counts the end of a job.
func (s *Stats) count(j *job, err error) {
	switch {
	case err == nil:
		s.Sent[j.Class]++
	case j.running && !errors.Is(err, ErrClosed):
		s.Failed[j.Class]++
	case !errors.Is(err, ErrClosed):
		s.Skipped[j.Class]++
	}
}

// snapshot adds the present state to the counts.
func (p *plan) snapshot(now time.Time) Stats {
	s := p.stats
	s.InFlight, s.Outage = p.inFlight, p.outage.failures
	if at := p.opensAt(); at.After(now) {
		s.HeldUntil = at
	}
	for _, c := range p.chats {
		if c.held.After(now) {
			s.HeldChats++
		}
		for _, l := range c.lanes {
			s.Oldest = sooner(s.Oldest, l.jobs[0].born())
		}
	}
	return s
}
