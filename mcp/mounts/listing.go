package mounts

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/mdtext"
)

// recordOwner owns the records of what servers have listed.
const recordOwner = "mounts"

// Records keep what servers have listed, so that no server must run to be offered.
type Records interface {
	// Record returns one record, or core.ErrNotFound.
	Record(ctx context.Context, owner, key string) (core.Record, error)
	// Records returns the owner's records whose key begins with prefix, by key.
	Records(ctx context.Context, owner, prefix string) ([]core.Record, error)
	// PutRecords returns once the records are durable.
	PutRecords(ctx context.Context, rs ...*core.Record) error
}

// A listing is what a server has listed. It is the document of a record, whose key is the name of the server.
type listing struct {
	Entry     string       `json:"entry"`      // hash of how the server is started
	Since     time.Time    `json:"since"`      // of the first list of a server of the name
	LearnedAt time.Time    `json:"learned_at"` // of this one
	Tools     []tools.Tool `json:"tools"`
	Refused   []string     `json:"refused,omitempty"` // names of further tools, which clients refuse
	// Before has the tools that have changed or gone, as people know them: as they were listed first, or
	// allowed last.
	Before map[string]tools.Tool `json:"before,omitempty"`
}

// entryOf returns the hash of how a server is started.
func entryOf(s *Server) string {
	started := Server{
		Command: s.Command,
		Args:    s.Args,
		Env:     s.Env,
		CWD:     s.CWD,
		URL:     s.URL,
		Headers: s.Headers,
	}
	text, err := json.Marshal(started) // sorts the maps
	if err != nil {
		panic("mounts: a plain value does not encode: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// isKnown reports whether the server has listed its tools since it is started as it is.
func (l *listing) isKnown(s *Server) bool { return l.Entry == entryOf(s) }

// next returns the listing with another list of tools.
func (l *listing) next(s *Server, listed list, now time.Time) listing {
	n := listing{
		Entry:     entryOf(s),
		Since:     l.Since,
		LearnedAt: now,
		Tools:     listed.tools,
		Refused:   listed.refused,
		Before:    map[string]tools.Tool{},
	}
	if n.Since.IsZero() {
		n.Since = now
	}
	maps.Copy(n.Before, l.Before)
	for _, t := range l.Tools {
		if _, older := n.Before[t.Name]; !older {
			n.Before[t.Name] = t
		}
	}
	for _, t := range listed.tools {
		if before, known := n.Before[t.Name]; known && isSame(&before, &t) {
			delete(n.Before, t.Name)
		}
	}
	return n
}

// accepted returns the listing in which people know a tool as it is, and reports whether they did not. The server
// may have changed the tool again meanwhile: then nothing is accepted.
func (l *listing) accepted(t *tools.Tool) (next listing, changed bool) {
	next = *l
	is := func(other tools.Tool) bool { return isSame(&other, t) }
	if _, changed = l.Before[t.Name]; !changed || !slices.ContainsFunc(l.Tools, is) {
		return next, false
	}
	next.Before = maps.Clone(l.Before)
	delete(next.Before, t.Name)
	return next, true
}

// isLike reports whether two listings differ in their times alone.
func (l *listing) isLike(other *listing) bool {
	same := func(a, b tools.Tool) bool { return isSame(&a, &b) }
	return l.Entry == other.Entry && slices.EqualFunc(l.Tools, other.Tools, same) && slices.Equal(l.Refused, other.Refused) && maps.EqualFunc(l.Before, other.Before, same)
}

// isSame reports whether two lists say the same of a tool.
func isSame(a, b *tools.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && a.Annotations == b.Annotations && bytes.Equal(a.Input, b.Input)
}

// maxShown bounds each of the two descriptions that show a change, in UTF-16 units.
const maxShown = 300

// changeOf says in a sentence what has changed of a tool.
func changeOf(before, now *tools.Tool) string {
	var changes []string
	if before.Description != now.Description {
		changes = append(changes, fmt.Sprintf("its description was %q, and is now %q",
			mdtext.Brief(before.Description, maxShown), mdtext.Brief(now.Description, maxShown)))
	}
	if !bytes.Equal(before.Input, now.Input) {
		changes = append(changes, "its parameters have changed"+parametersOf(before.Input, now.Input))
	}
	if before.Annotations.ReadOnly != now.Annotations.ReadOnly {
		changes = append(changes, fmt.Sprintf("it says that it only reads: %t, before: %t", now.Annotations.ReadOnly, before.Annotations.ReadOnly))
	} else if before.Annotations != now.Annotations {
		changes = append(changes, "its hints have changed")
	}
	return "The server has changed this tool since it was known: " + strings.Join(changes, "; ") + "."
}

// parametersOf names the parameters that two schemas do not share, as the end of a clause.
func parametersOf(before, now json.RawMessage) string {
	was, is := propertiesOf(before), propertiesOf(now)
	var ends []string
	missing := func(from, in []string) string {
		only := slices.DeleteFunc(slices.Clone(from), func(name string) bool { return slices.Contains(in, name) })
		return mdtext.Brief(strings.Join(only, ", "), maxShown/2)
	}
	if names := missing(is, was); names != "" {
		ends = append(ends, "new: "+names)
	}
	if names := missing(was, is); names != "" {
		ends = append(ends, "gone: "+names)
	}
	if ends == nil {
		return ""
	}
	return " (" + strings.Join(ends, "; ") + ")"
}

// propertiesOf returns the names of a schema's properties, sorted.
func propertiesOf(schema json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(schema, &s) // else none
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// readListing returns what a server of a name has listed; the zero value if that is not on record.
func readListing(ctx context.Context, records Records, name string) (l listing, err error) {
	doc, err := records.Record(ctx, recordOwner, name)
	if errors.Is(err, core.ErrNotFound) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(doc.Doc, &l)
	}
	if err != nil {
		return listing{}, fmt.Errorf("read what the server %s has listed: %w", name, err)
	}
	return l, nil
}

// keepListing puts what a server has listed on record; nil: it is removed.
func keepListing(ctx context.Context, records Records, name string, l *listing) error {
	doc := core.Record{Owner: recordOwner, Key: name}
	if l != nil {
		text, err := json.Marshal(l)
		if err != nil {
			return fmt.Errorf("encode what the server %s has listed: %w", name, err)
		}
		doc.Doc = text
	}
	if err := records.PutRecords(ctx, &doc); err != nil {
		return fmt.Errorf("keep what the server %s has listed: %w", name, err)
	}
	return nil
}
