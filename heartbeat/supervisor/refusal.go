package supervisor

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// A refusal answers clients in a long pause, so that they need not wait for a worker.
type refusal struct{ server *http.Server }

// refuse answers every request on the listeners among the files, until end is called.
func refuse(files map[string]*os.File, pause time.Duration) *refusal {
	until := time.Now().Add(pause)
	server := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { refuseRequest(w, time.Until(until)) }),
		ReadHeaderTimeout: maxPause,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	for name, f := range files {
		if strings.HasPrefix(name, passedPrefix) { // a worker has left its own listener
			continue
		}
		if l, err := net.FileListener(f); err == nil { // else it is not a listener
			go func() { _ = server.Serve(l) }() // ends with the refusal
		}
	}
	return &refusal{server}
}

// refuseRequest answers as a gateway does that is shutting down. Why it has crashed is for its owner
// alone, and stands in the log.
func refuseRequest(w http.ResponseWriter, left time.Duration) {
	seconds := max(1, int(math.Ceil(left.Seconds())))
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Retry-After", strconv.Itoa(seconds))
	h.Set("Connection", "close")
	w.WriteHeader(http.StatusServiceUnavailable)
	_ = json.NewEncoder(w).Encode(map[string]string{ // the client may have left
		"error": fmt.Sprintf("The gateway has crashed several times and accepted nothing; it is started again in %d s. Its log says why: bareclaw logs", seconds),
		"code":  "shutting_down",
	})
}

// end stops answering. A nil refusal answers nobody.
func (r *refusal) end() {
	if r != nil {
		_ = r.server.Close()
	}
}
