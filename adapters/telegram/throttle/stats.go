package throttle

import (
	"errors"
	"time"
)

// PerClass is a number for each Class, which is the index.
type PerClass [classes]uint64

// Stats are what was done since New, and how it stands.
type Stats struct {
	Sent      PerClass // done
	Failed    PerClass // ended by an error of Do, for good or given up
	Skipped   PerClass // replaced, dropped or withdrawn before they were begun
	Retried   uint64   // tries that failed and are repeated
	Limited   uint64   // tries that were told to wait
	Ambiguous uint64   // tries that failed but may have arrived

	Waiting   [classes]int // not in flight, with those that wait for their next try
	InFlight  int
	Oldest    time.Time // since when the oldest Final or Approval waits or is in flight, zero: there is none
	HeldChats int       // chats that are held by the other side's wish
	HeldUntil time.Time // until when all is held, by the other side's wish or an outage; zero: it is not
	Outage    int       // failures in a row of an outage, 0: there is none
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

// snapshot adds to what was counted how it stands.
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
