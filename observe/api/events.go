package api

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"bareclaw/internal/plainjson"
	"bareclaw/observe/capture"
)

const (
	// maxStreams bounds how many clients hear of events at once.
	maxStreams = 32
	// streamed is how many events wait for a client. Those that find no room are lost to it.
	streamed = 256
	// heartbeat is the time between two comments in a stream, which show a client that it goes on.
	heartbeat = 30 * time.Second
)

// A broadcaster gives events to all who stream them. All methods are safe for concurrent use, and none
// blocks.
type broadcaster struct {
	mu      sync.Mutex
	streams map[chan []byte]bool
	ended   chan struct{} // closed by close
	once    sync.Once     // of close
}

func newBroadcaster() *broadcaster {
	return &broadcaster{
		streams: map[chan []byte]bool{},
		ended:   make(chan struct{}),
	}
}

// isHeard reports whether anybody streams.
func (b *broadcaster) isHeard() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.streams) > 0
}

// send sends an event; without a name it is a message.
func (b *broadcaster) send(name string, v any) {
	data, err := plainjson.Marshal(v)
	if err != nil {
		return
	}
	frame := []byte("data: " + string(data) + "\n\n")
	if name != "" {
		frame = append([]byte("event: "+name+"\n"), frame...)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.streams {
		select {
		case s <- frame:
		default:
		}
	}
}

// open begins a stream; nil: there are too many.
func (b *broadcaster) open() chan []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.streams) >= maxStreams {
		return nil
	}
	s := make(chan []byte, streamed)
	b.streams[s] = true
	return s
}

func (b *broadcaster) leave(s chan []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.streams, s)
}

// close ends all streams.
func (b *broadcaster) close() { b.once.Do(func() { close(b.ended) }) }

// RequestCaptured tells who streams events of a request and of what the app told of it. It does not block.
func (s *Server) RequestCaptured(r *capture.Request) {
	if !s.events.isHeard() {
		return
	}
	s.events.send("", requestOf(r))
	for _, e := range eventsOf(r) {
		name := e.Type
		if name == KindError {
			name = "error_event" // "error" is the browser's own
		}
		s.events.send(name, e.Data)
	}
}

// FindingsChanged tells who streams events of all findings. It does not block.
func (s *Server) FindingsChanged() {
	if !s.events.isHeard() {
		return
	}
	list := []Finding{}
	for _, f := range s.Findings.All() {
		list = append(list, findingOf(&f))
	}
	s.events.send("issues", list)
}

// serveEvents streams events until the client leaves or the server ends.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	stream := s.events.open()
	if stream == nil {
		writeError(w, refuse(http.StatusServiceUnavailable, "%d clients hear of events already: close one", maxStreams))
		return
	}
	defer s.events.leave(stream)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	write := func(frame []byte) bool {
		if _, err := w.Write(frame); err != nil {
			return false
		}
		return out.Flush() == nil
	}
	if !write(fmt.Append(nil, ":ok\n\n")) {
		return
	}
	for {
		frame := []byte(":heartbeat\n\n")
		select {
		case frame = <-stream:
		case <-beat.C:
		case <-s.events.ended:
			return
		case <-r.Context().Done():
			return
		}
		if !write(frame) {
			return
		}
	}
}
