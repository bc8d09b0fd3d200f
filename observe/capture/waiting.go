package capture

import (
	"slices"
	"time"
)

// Bounds of the signals that wait for their request.
const (
	maxWaiting      = 2000
	maxWaitingBytes = 2 << 20
	trimFrom        = 64 // groups
)

// A waitingKey is what signals wait for: a request by its id, any request of a trace, or a step of it.
type waitingKey struct {
	request string
	trace   TraceID
	step    SpanID
}

// A waitingGroup is the signals of one key.
type waitingGroup struct {
	key     waitingKey
	since   time.Time
	signals []Signal
	bytes   int
}

// waitingSignals are signals whose request is not known, at most maxWaiting.
type waitingSignals struct {
	groups map[waitingKey]*waitingGroup
	order  []*waitingGroup // the oldest first; some may have been taken
	count  int
	bytes  int
}

// add lets a signal wait. The oldest ones are dropped for it if there are too many.
func (w *waitingSignals) add(key waitingKey, signal Signal, now time.Time) {
	g := w.groups[key]
	if g == nil {
		g = &waitingGroup{
			key:   key,
			since: now,
		}
		w.groups[key] = g
		w.order = append(w.order, g)
	}
	size := signal.size()
	if len(g.signals) >= maxWaiting/2 || g.bytes+size > maxWaitingBytes/2 {
		return
	}
	g.signals = append(g.signals, signal)
	g.bytes += size
	w.count++
	w.bytes += size
	for w.count > maxWaiting || w.bytes > maxWaitingBytes {
		w.take(w.order[0].key)
		w.trim()
	}
}

// take returns the signals that wait for the key, and forgets them.
func (w *waitingSignals) take(key waitingKey) []Signal {
	g := w.groups[key]
	if g == nil {
		return nil
	}
	delete(w.groups, key)
	w.count -= len(g.signals)
	w.bytes -= g.bytes
	signals := g.signals
	g.signals = nil
	w.trim()
	return signals
}

// trim forgets groups that have been taken: the oldest ones, or all if they are many.
func (w *waitingSignals) trim() {
	for len(w.order) > 0 && w.groups[w.order[0].key] != w.order[0] {
		w.order[0] = nil
		w.order = w.order[1:]
	}
	if len(w.order) > 2*len(w.groups)+trimFrom {
		w.order = slices.DeleteFunc(w.order, func(g *waitingGroup) bool { return w.groups[g.key] != g })
	}
}

// old returns the signals that have waited too long, and forgets them.
func (w *waitingSignals) old(now time.Time) []Signal {
	var signals []Signal
	for len(w.order) > 0 && now.Sub(w.order[0].since) > lateUntil {
		signals = append(signals, w.take(w.order[0].key)...)
	}
	return signals
}

// size returns about how much memory a signal takes, in bytes.
func (s Signal) size() int {
	size := 150 + len(s.Request)
	if q := s.Query; q != nil {
		size += 200 + len(q.System) + len(q.Text) + len(q.Shape) + len(q.Table) + len(q.Values)
	}
	if f := s.Fetch; f != nil {
		size += 100 + len(f.Method) + len(f.URL)
	}
	if l := s.Log; l != nil {
		size += 80 + len(l.Level) + len(l.Text) + len(l.From)
	}
	if f := s.Fault; f != nil {
		size += 80 + len(f.Name) + len(f.Message) + len(f.Stack)
	}
	return size
}
