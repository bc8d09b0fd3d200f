package host

import (
	"bytes"
	"encoding/json"
	"slices"
)

// requests are the permission requests of claude that wait for an answer, oldest first.
type requests struct {
	all []request
}

type request struct {
	id  string
	raw json.RawMessage // the whole event
}

func (r *requests) len() int { return len(r.all) }

// add keeps a copy of the request. A request with a known id replaces the older one.
func (r *requests) add(id string, raw []byte) {
	q := request{id, bytes.Clone(raw)}
	if i := r.index(id); i >= 0 {
		r.all[i] = q
		return
	}
	r.all = append(r.all, q)
}

// remove reports whether the request was waiting for an answer.
func (r *requests) remove(id string) bool {
	i := r.index(id)
	if i >= 0 {
		r.all = slices.Delete(r.all, i, i+1)
	}
	return i >= 0
}

func (r *requests) index(id string) int {
	return slices.IndexFunc(r.all, func(q request) bool { return q.id == id })
}

// events returns the requests as claude made them.
func (r *requests) events() (raw []json.RawMessage) {
	for _, q := range r.all {
		raw = append(raw, q.raw)
	}
	return raw
}
