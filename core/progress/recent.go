package progress

// recent is a bounded set of the newest added strings, large enough to recognize the
// repetitions of a replay.
type recent struct {
	limit int
	known map[string]struct{}
	order []string
}

func newRecent(limit int) recent { return recent{limit: limit, known: map[string]struct{}{}} }

func (r *recent) has(s string) bool {
	_, known := r.known[s]
	return known
}

// add adds s and reports whether s is new.
func (r *recent) add(s string) bool {
	if r.has(s) {
		return false
	}
	if len(r.order) == r.limit {
		delete(r.known, r.order[0])
		r.order = r.order[1:]
	}
	r.known[s] = struct{}{}
	r.order = append(r.order, s)
	return true
}
