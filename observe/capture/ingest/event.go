package ingest

import (
	"encoding/json"
	"time"

	"bareclaw/observe/capture"
)

// An event is something that an SDK tells. Its data depend on its type.
type event struct {
	Type      string `json:"type"`
	RequestID value  `json:"requestId"`
	Timestamp value  `json:"timestamp"` // milliseconds since 1970, when the event was told
	Data      value  `json:"data"`
}

// An occurrence is what the data of all types have.
type occurrence struct {
	ParentRequestID value `json:"parentRequestId"`
	Timestamp       value `json:"timestamp"`
	Duration        value `json:"duration"` // milliseconds, by one of two names
	DurationMs      value `json:"durationMs"`

	told value // the event's own time
}

// event hands on what an event tells. Types have two names: those of batches with a version, and
// those of batches without one. Data of another shape come from another version.
func (r *Receiver) event(e *event) {
	o := occurrence{told: e.Timestamp}
	err := json.Unmarshal(e.Data, &o)
	if err != nil {
		return
	}
	if e.Type == "request" {
		r.request(e, &o)
		return
	}
	signal := capture.Signal{
		Request: first(e.RequestID, o.ParentRequestID).text(),
		At:      o.ended(),
	}
	switch e.Type {
	case "db.query", "query":
		signal.At = o.began()
		signal.Query = readQuery(e.Data, &o)
	case "fetch":
		signal.At = o.began()
		signal.Fetch = readFetch(e.Data, &o)
	case "log":
		signal.Log = readLog(e.Data, signal.At)
	case "auth.check":
		signal.Log = readAuthCheck(e.Data, signal.At)
	case "error":
		signal.Fault = readFault(e.Data, signal.At)
	}
	if signal.Query != nil || signal.Fetch != nil || signal.Log != nil || signal.Fault != nil {
		r.sink.Signal(signal)
	}
}

// earliest is the first time that can be one of this epoch: SDKs in Node count from the start of
// their process.
const earliest = 1e12 // September 2001

// ended returns when the event was told: SDKs tell of what has ended.
func (o *occurrence) ended() time.Time {
	for _, v := range []value{o.Timestamp, o.told} {
		n, ok := v.number()
		if ok && n >= earliest && n < 100*earliest {
			return time.UnixMicro(int64(n * 1000))
		}
	}
	return time.Now()
}

// began returns when what the event tells of began.
func (o *occurrence) began() time.Time { return o.ended().Add(-o.took()) }

// took returns how long that took.
func (o *occurrence) took() time.Duration {
	const day = 24 * 60 * 60 * 1000
	n, ok := first(o.Duration, o.DurationMs).number()
	if !ok || n < 0 || n > day {
		return 0
	}
	return time.Duration(n * float64(time.Millisecond))
}
