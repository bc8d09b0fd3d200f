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
	server  *Server
	handler *Handler
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
	handler := b.find(name)
	if handler == nil {
		text := fmt.Sprintf("there is no bag %.120q; there are %s", name, strings.Join(b.options.Registry.Bags(), ", "))
		writeError(w, http.StatusNotFound, nil, jsonrpc.CodeInvalidRequest, text)
		return
	}
	handler.ServeHTTP(w, r)
}

// find returns the handler of a bag; nil: there is no such bag.
func (b *Bags) find(name string) *Handler {
	b.mu.Lock()
	defer b.mu.Unlock()
	view, ok := b.options.Registry.Bag(name)
	if !ok {
		return nil
	}
	if known := b.open[name]; known != nil {
		return known.handler
	}
	options := b.options
	options.View = view
	server := New(options)
	added := &bag{
		server:  server,
		handler: server.Handler(),
	}
	b.open[name] = added
	return added.handler
}

// Offer offers the registry's tools to the clients of bags, and ends the servers of bags that there are no
// more.
func (b *Bags) Offer() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, one := range b.open {
		if _, ok := b.options.Registry.Bag(name); ok {
			one.server.Offer()
			continue
		}
		delete(b.open, name)
		go one.server.close() // ends when the calls of its sessions have ended
	}
}
