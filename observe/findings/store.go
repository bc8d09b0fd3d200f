package findings

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"bareclaw/internal/wait"
	"bareclaw/observe/rules"
)

// A Store keeps the findings of an app, in memory and in a file. Its methods may be called by several
// goroutines at once.
type Store struct {
	file   *file
	stores Stores

	saving sync.Mutex // held while the file is written; taken before mu

	// mu protects the fields below.
	mu      sync.Mutex
	id      string
	since   time.Time // requests that began earlier are not judged: the findings were cleared
	records map[string]*record
	byPlace map[place][]*record
	counted occurrences
	pushes  Pushes
	rounds  Rounds
	unsaved bool // there is something to save
	urgent  bool // a state has changed since the latest save

	wake    wait.Signal // Run is to save
	changed wait.Signal // a state has changed
}

// A place is where a rule looks for problems.
type place struct {
	rule     string
	endpoint string
}

// OpenStore returns the store of the findings in dir, which is `.brakit` in the directory of the app, and makes
// dir if there is none. A file that cannot be read as one of findings, or is of a store that is not trusted, is renamed, and
// logged. Where the disk
// cannot be written, the store keeps the findings in memory, logs that once, and tries again. An error says that
// something stands in the way, such as a symbolic link.
func OpenStore(dir string, stores Stores, log *slog.Logger) (*Store, error) {
	f := newFile(filepath.Join(dir, "findings.json"), log)
	s := &Store{
		file:    f,
		stores:  stores,
		id:      newStoreID(),
		records: map[string]*record{},
		byPlace: map[place][]*record{},
		wake:    wait.NewSignal(),
		changed: wait.NewSignal(),
	}
	s.pushes.store = s
	s.rounds.store = s
	var d document
	found, err := f.read(&d, func() error { return d.check(stores) })
	if err != nil {
		return nil, fmt.Errorf("open the findings: %w", err)
	}
	if !found {
		s.begin()
		return s, nil
	}
	d.settle(time.Now())
	s.id = d.Store
	s.pushes.current = d.Push
	s.rounds.current = d.Round
	for i := range d.Findings {
		r := &d.Findings[i]
		r.forgetRun()
		s.add(r)
	}
	return s, nil
}

// begin notes the id of a new store, and saves that: what else is kept of the app has the id too.
func (s *Store) begin() {
	s.stores.Remember(s.id) // before the file has the id
	s.mu.Lock()
	s.note(true)
	s.mu.Unlock()
	s.save()
}

// newStoreID returns an id that no other store has.
func newStoreID() string { return strings.ToLower(rand.Text()[:16]) }

// ID returns the id of the store, which is another one after Clear.
func (s *Store) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// Pushes returns what people are told of the findings.
func (s *Store) Pushes() *Pushes { return &s.pushes }

// Rounds returns the runs of agents that fix the findings.
func (s *Store) Rounds() *Rounds { return &s.rounds }

// Changed has a value when something may have to be told, or fixed, since it was last received. It is for one receiver.
func (s *Store) Changed() <-chan struct{} { return s.changed }

// Problem returns why the findings cannot be saved at present; nil: they can.
func (s *Store) Problem() error { return s.file.problem() }

// A Judgement is what a rule says of a request.
type Judgement struct {
	Rule     *rules.Rule
	Request  string // its id
	Endpoint string
	Run      int       // of the app
	At       time.Time // when the request began
	Status   int       // of the response; 0: there was none
	Asked    string    // the same for requests that asked for the same; empty: unknown, or the rule does not ask
	Matches  []rules.Match
	// Clean says that the request is known whole, and is evidence that what is not among Matches is gone.
	Clean bool
	// Near are the matches that the request would have if the latest ones to its endpoint had been
	// like it, and those of which it has too little. It proves nothing against these.
	Near []rules.Match
	// About are the matches against which alone it proves something; nil: all.
	About []rules.Match
	// Shown are the endpoints that show each of the findings of the whole app that are among Matches, by the
	// finding's id.
	Shown map[string][]string
}

// Judge counts what a rule says of a request: for each problem that the request has an occurrence, once, and
// for the others that the rule has found at this endpoint a clean hit, if the request is evidence and began after the latest
// occurrence. A redirect, as to a login, proves nothing about another response. A finding of the whole app has clean
// hits at the endpoints that have shown it together, and is resolved when all of them have one in one run of the app.
func (s *Store) Judge(j Judgement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j.At.Before(s.since) {
		return
	}
	var matched []string
	for _, m := range j.Matches {
		matched = append(matched, s.see(j, m))
	}
	if !j.Clean {
		return
	}
	for _, m := range j.Near {
		matched = append(matched, j.findingID(m))
	}
	isGone := func(id string) bool { return !slices.Contains(matched, id) }
	if j.About != nil {
		var about []string
		for _, m := range j.About {
			about = append(about, j.findingID(m))
		}
		isGone = func(id string) bool { return slices.Contains(about, id) && !slices.Contains(matched, id) }
	}
	s.judgeClean(j, j.Endpoint, isGone)
	s.judgeClean(j, rules.Global, isGone)
}

// judgeClean counts a request as a clean hit for those of the findings of a rule at an endpoint that it proves gone. The
// caller holds mu.
func (s *Store) judgeClean(j Judgement, endpoint string, isGone func(id string) bool) {
	for _, r := range s.byPlace[place{j.Rule.ID, endpoint}] {
		if !isGone(r.Finding.ID) {
			continue
		}
		before := r.Finding.CleanHits
		changed := r.apply(event{
			kind:  clean,
			at:    j.At,
			hit:   j.hit(),
			proof: j.Rule.Proof,
		})
		if changed || r.Finding.CleanHits != before {
			s.note(changed)
		}
	}
}

// see counts an occurrence, and returns the id of the finding, which is kept if there is room. The caller holds mu.
func (s *Store) see(j Judgement, m rules.Match) string {
	id := j.findingID(m)
	if !s.counted.add(occurrence{j.Request, id}) {
		s.restate(id, j.Request, m)
		return id
	}
	r := s.records[id]
	if r == nil {
		r = &record{
			Finding: Finding{
				ID:       id,
				Rule:     j.Rule.ID,
				Severity: j.Rule.Severity,
				Endpoint: j.endpoint(m),
			},
		}
		if !s.makeRoom(&r.Finding) {
			return id
		}
		s.add(r)
	}
	f := &r.Finding
	f.Severity = j.Rule.Severity
	f.Title = j.Rule.Title
	f.Advice = j.Rule.Advice
	f.Description = m.Description.Text
	f.Likely = m.Likely
	if shown := j.Shown[id]; len(shown) > 0 {
		r.Endpoints = slices.Clone(shown[:min(len(shown), keptEndpoints)])
	}
	s.note(r.apply(event{
		kind: seen,
		at:   j.At,
		hit:  j.hit(),
	}))
	if r.Rounds > 0 && r.needsFix() { // the agent may be asked again
		s.changed.Send()
	}
	return id
}

// restate has a finding say what another look at its latest request has shown, when more of that is known. The caller
// holds mu.
func (s *Store) restate(id, request string, m rules.Match) {
	r := s.records[id]
	if r == nil {
		return
	}
	f := &r.Finding
	isLatest := len(f.Requests) > 0 && f.Requests[len(f.Requests)-1] == request
	isSame := f.Description == m.Description.Text && f.Likely == m.Likely
	if !isLatest || isSame {
		return
	}
	f.Description = m.Description.Text
	f.Likely = m.Likely
	s.note(false)
}

// endpoint returns that of a match.
func (j *Judgement) endpoint(m rules.Match) string { return cmp.Or(m.Endpoint, j.Endpoint) }

// findingID returns the id of the finding of a match.
func (j *Judgement) findingID(m rules.Match) string {
	return rules.FindingID(j.Rule.ID, j.endpoint(m), m.Description)
}

// hit returns the request as one that counts.
func (j *Judgement) hit() hit {
	return hit{
		Request:  j.Request,
		Endpoint: j.Endpoint,
		Run:      j.Run,
		Status:   j.Status,
		At:       j.At,
		Asked:    j.Asked,
	}
}

// HasOpen reports whether a rule has found something at an endpoint, or of the whole app, that is not resolved.
func (s *Store) HasOpen(rule, endpoint string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	isOpen := func(r *record) bool { return r.Finding.State != Resolved }
	return slices.ContainsFunc(s.byPlace[place{rule, endpoint}], isOpen) ||
		slices.ContainsFunc(s.byPlace[place{rule, rules.Global}], isOpen)
}

// All returns copies of the findings, the first seen first.
func (s *Store) All() []Finding {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Finding, 0, len(s.records))
	for _, r := range s.records {
		all = append(all, r.Finding.copy())
	}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(a.FirstSeen.Compare(b.FirstSeen), strings.Compare(a.ID, b.ID))
	})
	return all
}

// copy returns a copy that a store will not change. Requests and Fix are replaced, never changed.
func (f *Finding) copy() Finding { return *f }

// Finding returns a copy of the finding of an id; false: there is none.
func (s *Store) Finding(id string) (Finding, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[id]
	if r == nil {
		return Finding{}, false
	}
	return r.Finding.copy(), true
}

// Report notes what somebody tells of a finding, saves that, and returns the finding. Only requests
// resolve a finding. A note is cut at 1,000 bytes. An error names the ids or the statuses that are taken.
func (s *Store) Report(id string, status FixStatus, note string) (Finding, error) {
	if !status.IsKnown() {
		return Finding{}, fmt.Errorf("unknown status %q: it is one of %s, %s and %s", status, FixBegun, Fixed, WontFix)
	}
	f, err := s.report(id, Fix{
		Status: status,
		Note:   cutNote(note),
		At:     time.Now(),
	})
	if err != nil {
		return Finding{}, err
	}
	s.save()
	return f, nil
}

// cutNote returns a note as it is kept.
func cutNote(note string) string { return strings.ToValidUTF8(note[:min(len(note), maxNote)], "") }

func (s *Store) report(id string, fix Fix) (Finding, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[id]
	if r == nil {
		return Finding{}, fmt.Errorf("no finding has the id %q: the list of findings has their ids", id)
	}
	s.note(r.apply(event{
		kind: reported,
		at:   fix.At,
		fix:  fix,
	}))
	return r.Finding.copy(), nil
}

// Clear forgets all findings, saves that, and returns how many there were. The store has another id then. Requests that
// began before do not bring findings back.
func (s *Store) Clear() int {
	count := s.clear()
	s.save()
	return count
}

func (s *Store) clear() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := len(s.records)
	for _, r := range s.records {
		r.apply(event{kind: cleared})
		s.drop(r)
	}
	s.id = newStoreID()
	s.stores.Remember(s.id) // before the file has the id
	s.pushes.current = nil
	s.since = time.Now()
	s.note(true)
	return count
}

// note notes that there is something to save; urgent: at once. The caller holds mu.
func (s *Store) note(urgent bool) {
	s.unsaved = true
	if !urgent {
		return
	}
	s.urgent = true
	s.wake.Send()
	s.changed.Send()
}

// add adds a finding. The caller holds mu.
func (s *Store) add(r *record) {
	f := &r.Finding
	at := place{f.Rule, f.Endpoint}
	s.records[f.ID] = r
	s.byPlace[at] = append(s.byPlace[at], r)
}

// drop forgets a finding. The caller holds mu.
func (s *Store) drop(r *record) {
	f := &r.Finding
	at := place{f.Rule, f.Endpoint}
	delete(s.records, f.ID)
	s.byPlace[at] = slices.DeleteFunc(s.byPlace[at], func(other *record) bool { return other == r })
	if len(s.byPlace[at]) == 0 {
		delete(s.byPlace, at)
	}
}
