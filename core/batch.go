package core

import "sync"

// A Batch holds events that arrived together, in order. Most batches are small and short-lived,
// so their memory is used again.
type Batch struct {
	Events []Event
	lines  []byte // what Keep returned
}

var batches = sync.Pool{New: func() any { return new(Batch) }}

// NewBatch returns an empty batch.
func NewBatch() *Batch { return batches.Get().(*Batch) }

// Add adds an event.
func (b *Batch) Add(ev Event) { b.Events = append(b.Events, ev) }

// Keep returns a copy of the line, valid until Free.
func (b *Batch) Keep(line []byte) []byte {
	start := len(b.lines)
	b.lines = append(b.lines, line...)
	return b.lines[start:len(b.lines):len(b.lines)]
}

// The largest memory of a batch that Free keeps: a turn's usual events.
const (
	maxPooledEvents = 64
	maxPooledBytes  = 32 << 10
)

// Free ends the use of the batch. The Raw of its events becomes invalid; everything else of
// the events stays valid.
func (b *Batch) Free() {
	if cap(b.Events) > maxPooledEvents || cap(b.lines) > maxPooledBytes {
		return
	}
	clear(b.Events)
	b.Events, b.lines = b.Events[:0], b.lines[:0]
	batches.Put(b)
}
