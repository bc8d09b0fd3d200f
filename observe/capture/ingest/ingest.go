// Package ingest takes in what brakit's SDKs tell of the app in which they run: its requests, queries,
// calls, logs and errors.
//
// An SDK sends batches of events as JSON, in one of two forms: with a version, where an event names
// its request beside its data, or without one, where the data does. What an event says beyond what is
// known here, and events of other types, are left out. Nothing is masked here.
package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"bareclaw/internal/plainjson"
	"bareclaw/observe/capture"
)

// Path is where SDKs send their batches.
const Path = "/__brakit/api/ingest"

// maxBody is how large a batch may be, in bytes.
const maxBody = 10 << 20

// A Sink takes what an SDK tells. It is called by several goroutines, and must not block for long.
type Sink interface {
	Signal(s capture.Signal)
	// End takes a request that an SDK has seen whole. It may be one that has passed the proxy, which has
	// the same id.
	End(raw capture.Raw)
}

// A Receiver is an HTTP handler for batches. It may be used by several goroutines.
type Receiver struct {
	sink     Sink
	decoding sync.Mutex // one batch at a time, which bounds the memory
}

// NewReceiver returns a receiver that hands to the sink what SDKs tell.
//
// A signal's query has no shape, and its values are known only where the text has them. Its time is when the query began; where
// the SDK has told a time of another clock, it is now.
func NewReceiver(sink Sink) *Receiver {
	return &Receiver{sink: sink}
}

// ServeHTTP takes a batch, and answers 204.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, "send events by POST")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxBody))
	_, long := errors.AsType[*http.MaxBytesError](err)
	if long {
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the batch has more than %d MiB; send fewer events at once", maxBody>>20))
		return
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "the batch did not come whole: "+err.Error())
		return
	}
	err = r.take(body)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// refuse says what is wrong with a batch.
func refuse(w http.ResponseWriter, status int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = plainjson.NewEncoder(w).Encode(map[string]string{"error": reason}) // nobody is left to be told
}

// A batch is what an SDK sends.
type batch struct {
	Brakit  value `json:"_brakit"`
	Version value `json:"version"`
	Events  value `json:"events"`
}

// take hands on the events of a batch.
func (r *Receiver) take(body []byte) error {
	r.decoding.Lock()
	defer r.decoding.Unlock()
	var b batch
	err := json.Unmarshal(body, &b)
	if err != nil {
		return fmt.Errorf("the batch is not a JSON object: %w", err)
	}
	if string(b.Brakit) != "true" {
		return errors.New(`the batch must have "_brakit": true`)
	}
	_, versioned := b.Version.number()
	if len(b.Version) > 0 && !versioned {
		return errors.New("the version of the batch must be a number")
	}
	if len(b.Events) == 0 || b.Events[0] != '[' {
		return errors.New("the events of the batch must be an array")
	}
	return eachElement(b.Events, func(element value) {
		var e event
		err := json.Unmarshal(element, &e)
		if err == nil { // an event of another shape comes from another version
			r.event(&e)
		}
	})
}

// eachElement calls each for the elements of an array that is valid JSON.
func eachElement(array value, each func(element value)) error {
	decoder := json.NewDecoder(array.reader())
	_, err := decoder.Token()
	for err == nil && decoder.More() {
		var element value
		err = decoder.Decode(&element)
		if err == nil {
			each(element)
		}
	}
	return err
}
