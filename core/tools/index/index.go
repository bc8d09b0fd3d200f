// Package index finds tools by words of their names, descriptions, parameters and servers. It keeps an
// index of full text in memory, and knows nothing of what tools do.
package index

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// A Document is what the index knows of a tool.
type Document struct {
	Name        string // identifies the document
	Description string
	Server      string          // whose tool it is
	Input       json.RawMessage // JSON Schema of the arguments
}

// equal reports whether two documents say the same.
func (d *Document) equal(other *Document) bool {
	return d.Name == other.Name && d.Description == other.Description && d.Server == other.Server && bytes.Equal(d.Input, other.Input)
}

// A Hit is a document that a search has found.
type Hit struct {
	Name  string
	Score float64 // above 0; higher is better, among the hits of one search
}

// An Index holds documents. New makes one. All methods are safe for concurrent use, one after the other.
type Index struct {
	mu   sync.Mutex // guards the fields below
	db   *database  // nil: not open, and without documents
	rows map[string]row
	docs map[int64]string // names by row
	last int64            // row
}

// A row is a document in the database.
type row struct {
	id  int64
	doc Document
}

// New returns an index without documents, which takes no memory before its first Replace.
func New() *Index { return &Index{} }

// Replace makes the documents those of the index, which keeps them until the next Replace: the caller
// must not change their Input. It writes those only that have changed since. Of two documents with one
// name the later one counts. After an error the index has no documents.
func (x *Index) Replace(docs []Document) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	isFirst := x.db == nil
	err := x.open()
	if err == nil {
		err = x.db.change(func() error { return x.write(docs) })
	}
	if err == nil && isFirst {
		err = x.db.merge()
	}
	if err != nil {
		x.close()
		return fmt.Errorf("index tools: %w", err)
	}
	return nil
}

// open opens the database unless it is open.
func (x *Index) open() (err error) {
	if x.db != nil {
		return nil
	}
	x.rows = map[string]row{}
	x.docs = map[int64]string{}
	x.db, err = openDatabase()
	return err
}

// write writes what differs from the documents.
func (x *Index) write(docs []Document) error {
	present := make(map[string]bool, len(docs))
	for i := range docs {
		present[docs[i].Name] = true
		if err := x.put(&docs[i]); err != nil {
			return err
		}
	}
	for name, r := range x.rows {
		if present[name] {
			continue
		}
		if err := x.remove(r); err != nil {
			return err
		}
	}
	return nil
}

// put writes a document, unless the index has it.
func (x *Index) put(d *Document) error {
	before, known := x.rows[d.Name]
	if known {
		if before.doc.equal(d) {
			return nil
		}
		if err := x.remove(before); err != nil {
			return err
		}
	}
	x.last++
	x.rows[d.Name] = row{x.last, *d}
	x.docs[x.last] = d.Name
	return x.db.add(x.last, textOf(d))
}

// remove removes a document.
func (x *Index) remove(r row) error {
	delete(x.rows, r.doc.Name)
	delete(x.docs, r.id)
	return x.db.remove(r.id)
}

// Search returns the documents that have any word of a query, at most limit of them, the best first. A
// word that none has stands for those that begin with it. The query is anybody's text, of which the first
// words count. Documents whose names keep refuses do not count; keep must not block; nil: all count.
func (x *Index) Search(query string, limit int, keep func(name string) bool) ([]Hit, error) {
	return x.search(query, limit, keep, beginning)
}

// SearchWords is Search for words alone, in their forms: one that no document has finds none.
func (x *Index) SearchWords(query string, limit int, keep func(name string) bool) ([]Hit, error) {
	return x.search(query, limit, keep, func(string) string { return "" })
}

// search is Search, where a word that no document has is looked for by the expression that instead returns; empty:
// it is not.
func (x *Index) search(query string, limit int, keep func(name string) bool, instead func(term string) string) ([]Hit, error) {
	terms := termsOf(query)
	if keep == nil {
		keep = func(string) bool { return true }
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(terms) == 0 || x.db == nil {
		return nil, nil
	}
	hits, err := x.match(terms, keep, instead)
	if err != nil {
		return nil, fmt.Errorf("search tools: %w", err)
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Name, b.Name))
	})
	return hits[:min(len(hits), max(limit, 0))], nil
}

// match returns the documents that have any of some terms, in no order.
func (x *Index) match(terms []string, keep func(name string) bool, instead func(term string) string) (hits []Hit, err error) {
	var expressions []string
	for _, term := range terms {
		known, err := x.db.has(exactly(term), func(id int64) bool { return keep(x.docs[id]) })
		if err != nil {
			return nil, err
		}
		expression := exactly(term)
		if !known {
			expression = instead(term)
		}
		if expression != "" {
			expressions = append(expressions, expression)
		}
	}
	if len(expressions) == 0 {
		return nil, nil
	}
	err = x.db.search(strings.Join(expressions, " OR "), func(id int64, score float64) {
		if name := x.docs[id]; keep(name) {
			hits = append(hits, Hit{name, score})
		}
	})
	return hits, err
}

// Close removes all documents, and frees the memory. The index can be used again.
func (x *Index) Close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.close()
}

func (x *Index) close() {
	if x.db != nil {
		x.db.close()
	}
	x.db = nil
	x.rows = nil
	x.docs = nil
}
