package mcp

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Bags serves bags of a registry's tools, each by a server of its own, which is made for the first request.
// The path of a request is the name of a bag. Bags that end close their sessions. All methods are safe for
// concurrent use.
type Bags struct {
	options Options // of each server, but for the view

	mu   sync.Mutex // guards the field below
	open map[string]*bag
}

// A bag is one that clients use.
type bag struct {
	server   *Server
	handler  *Handler
	requests sync.WaitGroup // under way, without streams; grows only while the bag is open
}

// serve serves one request, which find has counted.
func (b *bag) serve(w http.ResponseWriter, r *http.Request) {
	if !IsStream(r) {
		defer b.requests.Done()
	}
	b.handler.ServeHTTP(w, r)
}

// end ends the sessions of a bag that is not open any more. It waits for the requests under way first: a session
// that is closing sends no answers.
func (b *bag) end() {
	b.requests.Wait()
	b.handler.sessions.close()
	b.server.close()
}

// NewBags returns a handler whose servers are made with options. Their View is that of the bag.
func NewBags(o Options) *Bags {
	return &Bags{
		options: o,
		open:    map[string]*bag{},
	}
}

// ServeHTTP serves one request. There are no more servers than bags, which the registry bounds.
func (b *Bags) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	found := b.find(name, r)
	if found == nil {
		text := fmt.Sprintf("there is no bag %.120q; there are %s", name, strings.Join(b.options.Registry.Bags(), ", "))
		writeError(w, http.StatusNotFound, nil, jsonrpc.CodeInvalidRequest, text)
		return
	}
	found.serve(w, r)
}

// find returns the bag with a name, and counts a request of the bag unless the request is a stream; nil: there is
// no such bag.
func (b *Bags) find(name string, r *http.Request) *bag {
	b.mu.Lock()
	defer b.mu.Unlock()
	view, ok := b.options.Registry.Bag(name)
	if !ok {
		return nil
	}
	found := b.open[name]
	if found == nil {
		options := b.options
		options.View = view
		server := New(options)
		found = &bag{
			server:  server,
			handler: server.Handler(),
		}
		b.open[name] = found
	}
	if !IsStream(r) {
		found.requests.Add(1)
	}
	return found
}

// Offer offers the registry's tools to the clients of bags, and ends the servers of bags that there are no
// more when the requests under way have been answered.
func (b *Bags) Offer() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, one := range b.open {
		if _, ok := b.options.Registry.Bag(name); ok {
			one.server.Offer()
			continue
		}
		delete(b.open, name)
		go one.end() // ends when the bag's requests and calls have ended
	}
}
