// Package intent says what a request takes, and which tools: those of recipes for what many people ask for, and
// those that a search finds. The same request has the same answer as long as the tools are the same. No model
// is asked, because a model asks.
package intent

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"bareclaw/core/tools"
)

// A Catalog has the tools that there are. Its methods are those of [tools.Registry].
type Catalog interface {
	Version() int64
	List(v tools.View) []tools.Tool
	SearchWords(query string, v tools.View, limit int) ([]tools.Tool, error)
	CheckArgs(ctx context.Context, t *tools.Tool, args json.RawMessage) error
}

// maxCached bounds how many analyses are kept.
const maxCached = 256

// An Analyzer analyzes requests. It keeps the latest analyses as long as the tools do not change. All methods
// are safe for concurrent use.
type Analyzer struct {
	catalog Catalog

	mu      sync.Mutex // guards the fields below
	version int64      // of the tools
	cache   map[key]Analysis
	order   []key // of the cache, oldest first
}

// A key identifies a request through a view.
type key [sha256.Size]byte

// New returns an Analyzer of requests for the tools of a catalog.
func New(c Catalog) *Analyzer {
	return &Analyzer{
		catalog: c,
		cache:   map[key]Analysis{},
	}
}

// Analyze returns what a request takes with the tools of a view. The caller must not change the result. The error
// says what the request lacks, is a fault of the search, or is the cause of ctx.
func (a *Analyzer) Analyze(ctx context.Context, r Request, v tools.View) (Analysis, error) {
	r, err := r.normal()
	if err != nil {
		return Analysis{}, err
	}
	return a.analyze(ctx, r, v, r.contents)
}

// analyze returns what a request takes, whose contents are read unless the analysis is kept.
func (a *Analyzer) analyze(ctx context.Context, r Request, v tools.View, read func() *contents) (Analysis, error) {
	id := keyOf(r, v)
	version := a.catalog.Version()
	if known, ok := a.find(id, version); ok {
		return known, nil
	}
	if ctx.Err() != nil {
		return Analysis{}, context.Cause(ctx)
	}
	d := &draft{
		catalog: a.catalog,
		view:    v,
		all:     a.catalog.List(v),
		weights: map[tools.Category]float64{},
	}
	made, err := d.analyze(ctx, r, read())
	if err != nil {
		return Analysis{}, err
	}
	a.keep(id, version, made)
	return made, nil
}

func keyOf(r Request, v tools.View) (id key) {
	h := sha256.New()
	for _, part := range []string{v.Name, r.Tool, r.Text} {
		h.Write([]byte(part)) // never fails
		h.Write([]byte{0})
	}
	h.Write(r.Args)
	return key(h.Sum(nil))
}

// find returns the analysis of a request, if it is kept and the tools have that version.
func (a *Analyzer) find(id key, version int64) (known Analysis, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.version != version {
		return Analysis{}, false
	}
	known, ok = a.cache[id]
	return known, ok
}

// keep keeps an analysis, and forgets those of other versions of the tools.
func (a *Analyzer) keep(id key, version int64, made Analysis) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.version != version {
		a.version = version
		a.order = nil
		clear(a.cache)
	}
	if _, ok := a.cache[id]; ok {
		return
	}
	if len(a.order) >= maxCached {
		delete(a.cache, a.order[0])
		a.order = a.order[1:]
	}
	a.cache[id] = made
	a.order = append(a.order, id)
}
