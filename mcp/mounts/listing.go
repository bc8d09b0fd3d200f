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
	// Records returns the owner's records whose key begins with prefix, by key.
	Records(ctx context.Context, owner, prefix string) ([]core.Record, error)
	// PutRecords returns once the records are durable.
	PutRecords(ctx context.Context, rs ...*core.Record) error
}

// A listing is what a server has listed, and what people know of it. It is the document of a record, whose key is
// the name of the server.
type listing struct {
	Entry     string       `json:"entry"`              // hash of how the server is started
	Since     time.Time    `json:"since"`              // of the first list of a server of the name
	LearnedAt time.Time    `json:"learned_at"`         // of this one
	Tools     []tools.Tool `json:"tools"`              // with the server's names
	LeftOut   []string     `json:"left_out,omitempty"` // sentences that say why further tools are not among Tools
	// Trusted has the tools that have changed or gone, by the gateway's names, as people know them: as they were
	// listed first, or allowed last.
	Trusted map[string]tools.Tool `json:"trusted,omitempty"`
	// New has the tools that no person knows yet, by the gateway's names, and since when they are listed. What a
	// server lists first, after somebody has written how it is started, is known: nobody has to allow it anew.
	New map[string]time.Time `json:"new,omitempty"`
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

// isCurrent reports whether a server with an entry has listed its tools since it is started as that says.
func (l *listing) isCurrent(entry string) bool { return l.Entry == entry }

// errTooChanged says that people would have to know too much of a server.
var errTooChanged = errors.New("it has changed or taken away too many tools: remove the server and add it again, if it is to be trusted")

// next returns the listing with another list of a server. The error is errTooChanged.
func (l *listing) next(s *Server, listed list, now time.Time) (listing, error) {
	n := listing{
		Entry:     entryOf(s),
		Since:     l.Since,
		LearnedAt: now,
		Trusted:   l.trusted(s),
		New:       map[string]time.Time{},
	}
	isFirst := l.Since.IsZero() || !l.isCurrent(n.Entry)
	if n.Since.IsZero() {
		n.Since = now
	}
	for _, name := range listed.refused {
		n.LeftOut = append(n.LeftOut, fmt.Sprintf("The tool %q is left out: clients refuse its schema or its annotations.", mdtext.Brief(name, maxShown)))
	}
	names := map[string]bool{} // as claude shows them
	for _, t := range listed.tools {
		name := s.NameOf(t.Name)
		shownName := shown(name)
		if names[shownName] {
			n.LeftOut = append(n.LeftOut, fmt.Sprintf("The tool %q is left out: another one of the server has its name for Claude, %s.", mdtext.Brief(t.Name, maxShown), mdtext.Brief(shownName, maxShown)))
			continue
		}
		names[shownName] = true
		n.Tools = append(n.Tools, t)
		before, isKnown := n.Trusted[name]
		switch {
		case isKnown && isSame(&before, &t):
			delete(n.Trusted, name)
		case !isKnown && !isFirst:
			n.New[name] = l.newSince(name, now)
		}
	}
	if size := sizeOf(n.Trusted); len(n.Trusted) > maxTools || size > maxList {
		return *l, errTooChanged
	}
	return n, nil
}

// shown returns the name under which claude shows a tool.
func shown(name string) string { return strings.ReplaceAll(name, ".", "_") }

// newSince returns since when a tool is listed that no person knows.
func (l *listing) newSince(name string, now time.Time) time.Time {
	if since, ok := l.New[name]; ok {
		return since
	}
	return now
}

// trusted returns all tools as people know them, by the gateway's names.
func (l *listing) trusted(s *Server) map[string]tools.Tool {
	all := map[string]tools.Tool{}
	for _, t := range l.Tools {
		name := s.NameOf(t.Name)
		if _, isNew := l.New[name]; !isNew {
			all[name] = t
		}
	}
	maps.Copy(all, l.Trusted)
	return all
}

// sizeOf returns the size of tools, in bytes.
func sizeOf(all map[string]tools.Tool) (size int) {
	for name := range all {
		t := all[name]
		size += len(name) + len(t.Name) + len(t.Annotations.Title) + len(t.Description) + len(t.Input)
	}
	return size
}

// has reports whether the server has listed a tool exactly so.
func (l *listing) has(t *tools.Tool) bool {
	return slices.ContainsFunc(l.Tools, func(other tools.Tool) bool { return isSame(&other, t) })
}

// trusting returns the listing in which people know a tool as it is, and reports whether they did not. The server
// may have changed the tool again meanwhile: then that is not trusted.
func (l *listing) trusting(s *Server, t *tools.Tool) (next listing, changed bool) {
	next = *l
	name := s.NameOf(t.Name)
	_, hasChanged := l.Trusted[name]
	_, isNew := l.New[name]
	if !hasChanged && !isNew || !l.has(t) {
		return next, false
	}
	next.Trusted = maps.Clone(l.Trusted)
	delete(next.Trusted, name)
	next.New = maps.Clone(l.New)
	delete(next.New, name)
	return next, true
}

// asks reports whether a person must allow the calls of a tool.
func (l *listing) asks(s *Server, t *tools.Tool) bool {
	name := s.NameOf(t.Name)
	_, hasChanged := l.Trusted[name]
	_, isNew := l.New[name]
	return hasChanged || isNew && !s.names(t.Name) || !s.Allows(t.Name, t.Annotations.ReadOnly)
}

// isLike reports whether two listings differ in their times alone.
func (l *listing) isLike(other *listing) bool {
	same := func(a, b tools.Tool) bool { return isSame(&a, &b) }
	return l.Entry == other.Entry && slices.EqualFunc(l.Tools, other.Tools, same) && slices.Equal(l.LeftOut, other.LeftOut) && maps.EqualFunc(l.Trusted, other.Trusted, same) && maps.EqualFunc(l.New, other.New, time.Time.Equal)
}

// isSame reports whether two lists say the same of a tool.
func isSame(a, b *tools.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && a.Annotations == b.Annotations && bytes.Equal(a.Input, b.Input)
}

// keptListings are what servers have listed, by their names. Those of unread have a record that cannot be read: what
// people know of their tools is not known.
type keptListings struct {
	all    map[string]listing
	unread map[string]error
}

// readListings returns what servers have listed.
func readListings(ctx context.Context, records Records) (keptListings, error) {
	docs, err := records.Records(ctx, recordOwner, "")
	if err != nil {
		return keptListings{}, fmt.Errorf("the record of what mounted servers have listed cannot be read: %w", err)
	}
	kept := keptListings{
		all:    map[string]listing{},
		unread: map[string]error{},
	}
	for _, doc := range docs {
		var l listing
		if err := json.Unmarshal(doc.Doc, &l); err != nil {
			kept.unread[doc.Key] = fmt.Errorf("the record of what it has listed cannot be read: remove the server and add it again: %w", err)
			continue
		}
		kept.all[doc.Key] = l
	}
	return kept, nil
}

// names returns the names of the servers that have a record.
func (k *keptListings) names() []string {
	return slices.AppendSeq(slices.Collect(maps.Keys(k.all)), maps.Keys(k.unread))
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
