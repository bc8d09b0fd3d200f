// Package otlp takes in what an app tells of itself by OpenTelemetry: spans and logs, by OTLP over
// HTTP, as protobuf or as JSON.
//
// Protobuf is read field by field: the generated packages would fill tables in every process of this
// program when it starts. What a request carries is handed on while it is read, so a large one takes
// little more memory than its bytes, and one that turns out to be broken has told what came before.
// Nothing is masked here.
package otlp

import (
	"sync"

	"bareclaw/observe/capture"
)

// Limits of one request.
const (
	maxWire     = 8 << 20  // bytes as they are sent
	maxInflated = 32 << 20 // bytes after decompression
)

// Limits of one span. What is beyond them is left out.
const (
	maxAttributes = 256
	maxEvents     = 128
	maxDepth      = 32 // of values within values
)

// A Sink takes what an app tells. It is called by several goroutines, and must not block for long.
type Sink interface {
	Signal(s capture.Signal)
}

// A Receiver is the HTTP server's end of OTLP. It serves /v1/traces and /v1/logs, and takes metrics
// without reading them, because exporters repeat what is refused. It may be used by several
// goroutines.
type Receiver struct {
	sink     Sink
	queries  *nesting
	fetches  *nesting
	decoding sync.Mutex // one request at a time, which bounds the memory
}

// NewReceiver returns a receiver that hands signals to the sink.
//
// A signal's query has no shape, and ValuesKnown only where the app has told the values;
// its table is there if the app has told it.
func NewReceiver(sink Sink) *Receiver {
	return &Receiver{
		sink:    sink,
		queries: newNesting(),
		fetches: newNesting(),
	}
}
