package messagesapi

import (
	"net/http"
	"slices"
	"sync"
)

// Seen is what the stand-in keeps of one request to /v1/messages.
type Seen struct {
	N           int         // 1 for the first request
	Header      http.Header // as received
	Bytes       int         // length of the body
	Rejected    string      // why it was answered 400, 401 or 413; "" if it was taken
	Model       string
	Stream      bool
	Directive   string       // its first word, such as "echo" or "tool:bash"; "" if none
	Text        string       // the user text that chose the reply, reminders removed
	UserTexts   []string     // every user text of the conversation, oldest first
	ToolResults []ToolResult // those of the latest user message that has any
	Images      []string     // media types of the images in the latest user message
	Tools       []string     // names of the offered tools
	System      string       // the system prompt, blocks joined by newlines
}

// A ToolResult is what the client reported for one tool call.
type ToolResult struct {
	ToolUseID string
	Text      string // text blocks joined
	IsError   bool
}

// record is the list of requests so far.
type record struct {
	mu       sync.Mutex // protects the fields below
	seen     []Seen
	arrivals []chan struct{} // arrivals[i] is closed when request i+1 is recorded
}

// add numbers the request, keeps it and wakes who waits for it.
func (r *record) add(s Seen) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.N = len(r.seen) + 1
	r.seen = append(r.seen, s)
	close(r.arrivalLocked(s.N))
	return s.N
}

func (r *record) arrivalLocked(n int) chan struct{} {
	for len(r.arrivals) < n {
		r.arrivals = append(r.arrivals, make(chan struct{}))
	}
	return r.arrivals[n-1]
}

// Count returns how many requests to /v1/messages have arrived, refused ones
// included.
func (s *Standin) Count() int {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	return len(s.record.seen)
}

// Requests returns the requests to /v1/messages in order of arrival. The
// caller must not change what the elements refer to.
func (s *Standin) Requests() []Seen {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	return slices.Clone(s.record.seen)
}
