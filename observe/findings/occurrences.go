package findings

// occurrences are the latest pairs of a request and a finding that were counted, so that later looks at a
// request do not count it again. It has room for all requests that capture keeps. The zero value is empty.
type occurrences struct {
	known  map[occurrence]struct{}
	recent []occurrence // a ring
	next   int          // of recent, once it is full
}

// An occurrence is a request that has a problem.
type occurrence struct {
	request string
	finding string
}

// maxOccurrences is how many pairs are known.
const maxOccurrences = 16_384

// add reports whether a pair is new.
func (o *occurrences) add(pair occurrence) bool {
	if _, ok := o.known[pair]; ok {
		return false
	}
	if o.known == nil {
		o.known = map[occurrence]struct{}{}
	}
	o.known[pair] = struct{}{}
	if len(o.recent) < maxOccurrences {
		o.recent = append(o.recent, pair)
		return true
	}
	delete(o.known, o.recent[o.next])
	o.recent[o.next] = pair
	o.next = (o.next + 1) % maxOccurrences
	return true
}
