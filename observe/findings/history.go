package findings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"bareclaw/observe/rules"
)

// A History keeps the figures of an app's endpoints by runs of the app, in memory and in a file, for the rules that
// compare a run with earlier ones. Its methods may be called by several goroutines at once.
type History struct {
	file *file
	// owner is the store of the same app's findings, whose id the file has: that tells whose the file is, as it does there.
	owner *Store

	saving sync.Mutex // held while the file is written; taken before mu

	// mu protects the fields below.
	mu      sync.Mutex
	earlier []run                          // the oldest first
	index   map[string][]rules.RunFigures  // of earlier, by endpoint; replaced, never changed
	number  int                            // of the present run
	started time.Time                      // zero: no request of the present run has come
	present map[string]*endpointMeasurings // by endpoint
	unsaved bool
	store   string // the id that the file has
}

// A run is what is kept of a run of the app.
type run struct {
	Started   time.Time                   `json:"started"` // when its first request began
	Endpoints map[string]rules.RunFigures `json:"endpoints"`
}

// A metricsDocument is what the file of figures holds.
type metricsDocument struct {
	Version int    `json:"version"`
	Store   string `json:"store"` // the id of that of the findings
	Runs    []run  `json:"runs"`
}

// Bounds of a history.
const (
	maxRuns         = 50  // without the present one
	maxRunEndpoints = 500 // of a run
	maxPoints       = 200 // latest durations of an endpoint, for its p95
)

// metricsInterval is how long figures may be unsaved.
const metricsInterval = 30 * time.Second

// OpenHistory returns the history in dir, as [OpenStore] does the findings, whose store owns it.
func OpenHistory(dir string, owner *Store, log *slog.Logger) (*History, error) {
	h := &History{
		file:    newFile(filepath.Join(dir, "metrics.json"), log),
		owner:   owner,
		store:   owner.ID(),
		present: map[string]*endpointMeasurings{},
	}
	var d metricsDocument
	found, err := h.file.read(&d, func() error { return d.check(owner.stores) })
	if err != nil {
		return nil, fmt.Errorf("open the figures of earlier runs: %w", err)
	}
	if found {
		h.store = d.Store
		h.earlier = d.Runs[max(0, len(d.Runs)-maxRuns):]
	}
	h.index = indexRuns(h.earlier)
	return h, nil
}

// check returns an error if a document does not hold figures, or those of a store that is not trusted.
func (d *metricsDocument) check(stores Stores) error {
	if d.Version != version {
		return fmt.Errorf("it has version %d, and this program knows version %d", d.Version, version)
	}
	if !stores.Trusted(d.Store) {
		return &foreignError{"it is not of these findings: it may have come with the directory"}
	}
	isEmpty := func(r run) bool { return len(r.Endpoints) == 0 }
	if slices.ContainsFunc(d.Runs, isEmpty) {
		return errors.New("it has a run without figures")
	}
	return nil
}

// indexRuns returns the figures of runs by endpoint.
func indexRuns(runs []run) map[string][]rules.RunFigures {
	index := map[string][]rules.RunFigures{}
	for _, r := range runs {
		for endpoint, figures := range r.Endpoints {
			index[endpoint] = append(index[endpoint], figures)
		}
	}
	return index
}

// Earlier returns the figures of an endpoint in runs before the present one, the oldest first. They must not be changed.
func (h *History) Earlier(endpoint string) []rules.RunFigures {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.index[endpoint]
}

// AllEarlier is Earlier for all endpoints.
func (h *History) AllEarlier() map[string][]rules.RunFigures {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.index
}

// A Measuring is what a request adds to the figures of its endpoint.
type Measuring struct {
	Run      int // of the app; a number that grows begins a run, a smaller one is of an earlier run and left out
	Endpoint string
	At       time.Time // when the request began
	Took     time.Duration
	Queries  int // -1: unknown
}

// Add adds a request to the figures of the present run.
func (h *History) Add(m Measuring) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m.Run < h.number {
		return
	}
	if m.Run > h.number {
		h.begin(m.Run)
	}
	if h.started.IsZero() {
		h.started = m.At
	}
	e := h.present[m.Endpoint]
	if e == nil {
		if len(h.present) == maxRunEndpoints {
			return
		}
		e = &endpointMeasurings{}
		h.present[m.Endpoint] = e
	}
	e.add(m)
	h.unsaved = true
}

// SetUnusual notes that an endpoint is worse in a run than in earlier ones, so that later ones are not compared with it. It does
// nothing if the run is not the present one.
func (h *History) SetUnusual(run int, endpoint string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.present[endpoint]
	if run == h.number && e != nil {
		e.unusual = true
		h.unsaved = true
	}
}

// begin makes the present run one of the earlier ones. The caller holds mu.
func (h *History) begin(number int) {
	h.number = number
	if h.started.IsZero() {
		return
	}
	runs := append(slices.Clip(h.earlier), h.presentRun())
	h.earlier = runs[max(0, len(runs)-maxRuns):]
	h.index = indexRuns(h.earlier)
	h.started = time.Time{}
	h.present = map[string]*endpointMeasurings{}
}

// presentRun returns the figures of the present run. The caller holds mu.
func (h *History) presentRun() run {
	r := run{
		Started:   h.started,
		Endpoints: make(map[string]rules.RunFigures, len(h.present)),
	}
	for endpoint, e := range h.present {
		r.Endpoints[endpoint] = e.figures()
	}
	return r
}

// Run saves the figures as they change, until ctx ends.
func (h *History) Run(ctx context.Context) {
	ticker := time.NewTicker(metricsInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			h.save()
			return
		case <-ticker.C:
			h.save()
		}
	}
}

// save writes the figures if there is something to save.
func (h *History) save() {
	h.saving.Lock()
	defer h.saving.Unlock()
	d, ok := h.document()
	if !ok {
		return
	}
	if err := h.file.write(d); err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.unsaved = true // the next tick tries again
	}
}

// document returns what is to be saved; false: nothing is. Of 51 runs the first one is left out.
func (h *History) document() (metricsDocument, bool) {
	store := h.owner.ID()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.unsaved && store == h.store {
		return metricsDocument{}, false
	}
	h.unsaved = false
	h.store = store
	runs := slices.Clone(h.earlier)
	if !h.started.IsZero() {
		runs = append(runs, h.presentRun())
	}
	return metricsDocument{
		Version: version,
		Store:   store,
		Runs:    runs[max(0, len(runs)-maxRuns):],
	}, true
}

// endpointMeasurings are what was measured of an endpoint in the present run.
type endpointMeasurings struct {
	requests int
	took     []time.Duration // the latest: a ring of maxPoints
	queries  int             // of the requests whose queries are known
	queried  int             // how many those are
	unusual  bool
}

// add adds a request.
func (e *endpointMeasurings) add(m Measuring) {
	if len(e.took) < maxPoints {
		e.took = append(e.took, m.Took)
	} else {
		e.took[e.requests%maxPoints] = m.Took
	}
	e.requests++
	if m.Queries >= 0 {
		e.queried++
		e.queries += m.Queries
	}
}

// figures returns the figures of the endpoint.
func (e *endpointMeasurings) figures() rules.RunFigures {
	sorted := slices.Sorted(slices.Values(e.took))
	const percentile = 95
	rank := (len(sorted)*percentile + 99) / 100 // the nearest rank, from 1
	f := rules.RunFigures{
		Requests: e.requests,
		P95:      float64(sorted[rank-1]) / float64(time.Millisecond),
		Queries:  -1,
		Unusual:  e.unusual,
	}
	if e.queried > 0 {
		f.Queries = float64(e.queries) / float64(e.queried)
	}
	return f
}
