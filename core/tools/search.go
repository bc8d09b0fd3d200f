package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"bareclaw/core"
	"bareclaw/core/tools/index"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/plainjson"
	"bareclaw/internal/toolset"
)

// SearchName is the tool that finds the others. Its schema changes by optional arguments alone; see
// CallName.
const SearchName = "tool_search"

// Bounds of the results of tool_search.
const (
	defaultFound = 10     // tools
	maxFound     = 30     // tools
	maxWhole     = 24_000 // bytes of JSON; tools that go beyond come without schemas
	maxBrief     = 120    // characters of the description of a tool that comes without a schema
)

// selection begins a query that names tools.
const selection = "select:"

// A searcher has the index of a registry's tools, which it makes for the first search and renews by what
// has changed until the next one. The index stays as long as the registry.
type searcher struct {
	mu      sync.Mutex   // guards the fields below; held during a search
	index   *index.Index // nil before the first search
	version int64        // of the registry's tools, that the index has
}

// Search returns the tools of a view that have any word of a query, at most limit of them, the best
// first. Names, descriptions, parameters and sources count; tool_search and tool_call are not among them. A word
// that no tool has stands for those that begin with it. The error is a fault of the index.
func (r *Registry) Search(query string, v View, limit int) ([]Tool, error) {
	return r.searchBy((*index.Index).Search, query, v, limit)
}

// SearchWords is Search for words alone, in their forms: one that no tool has finds none.
func (r *Registry) SearchWords(query string, v View, limit int) ([]Tool, error) {
	return r.searchBy((*index.Index).SearchWords, query, v, limit)
}

// A searching is a method of the index.
type searching func(x *index.Index, query string, limit int, keep func(name string) bool) ([]index.Hit, error)

// searchBy is Search or SearchWords.
func (r *Registry) searchBy(search searching, query string, v View, limit int) ([]Tool, error) {
	s := &r.searcher
	s.mu.Lock()
	defer s.mu.Unlock()
	all, version := r.snapshot()
	if err := s.renew(all, version); err != nil {
		return nil, err
	}
	hits, err := search(s.index, query, limit, func(name string) bool {
		t := all[name]
		return v.Has(&t)
	})
	if err != nil {
		return nil, err
	}
	found := make([]Tool, len(hits))
	for i, hit := range hits {
		found[i] = all[hit.Name]
	}
	return found, nil
}

// renew makes the tools those of the index.
func (s *searcher) renew(all map[string]Tool, version int64) error {
	if s.index != nil && s.version == version {
		return nil
	}
	docs := make([]index.Document, 0, len(all))
	for name := range all {
		if isDispatcher(name) {
			continue // whoever searches has them
		}
		t := all[name]
		docs = append(docs, index.Document{
			Name:        t.Name,
			Description: t.Description,
			Server:      cmp.Or(t.Mount, t.Source),
			Input:       t.Input,
		})
	}
	next := s.index
	if next == nil {
		next = index.New()
	}
	s.index = nil // the next search tries again if this fails
	if err := next.Replace(docs); err != nil {
		return err
	}
	s.index = next
	s.version = version
	return nil
}

// snapshot returns all tools by name, which the caller must not change, and the version.
func (r *Registry) snapshot() (all map[string]Tool, version int64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.catalog.tools, r.version
}

// searchTool returns tool_search.
func (r *Registry) searchTool() Tool {
	return Tool{
		Name: SearchName,
		Description: "Find tools of the gateway by words of their names, descriptions and parameters. Returns the present schemas; a tool may have changed since the conversation began. " +
			"An empty query lists all tools without schemas; the query select:a,b returns the tools a and b.",
		Input: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"Words, such as: compare json"},` +
			`"limit":{"type":"integer","description":"How many tools at most: 10 by default, up to 30"}},"required":["query"]}`),
		Annotations: Annotations{ReadOnly: true, Idempotent: true},
		Category:    Meta,
		Pinned:      true,
		Reach:       ReachOwn,
		Handle:      WithArgs(r.search),
	}
}

// searchArgs are the arguments of tool_search.
type searchArgs struct {
	Query string `json:"query"`
	Limit int    `json:"limit"`
}

// A searchResult is what tool_search returns.
type searchResult struct {
	Tools []found `json:"tools"`
	Note  string  `json:"note,omitempty"` // what is left out, and how to get it
}

// A found is a tool in the result of a search; without Schema it is not whole.
type found struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Source      string          `json:"source,omitempty"`
	Schema      json.RawMessage `json:"inputSchema,omitempty"`
}

func (r *Registry) search(ctx context.Context, c Call, args searchArgs) (Result, error) {
	if names, ok := strings.CutPrefix(strings.TrimSpace(args.Query), selection); ok {
		return r.selectTools(ctx, c, names)
	}
	if !index.HasWords(args.Query) {
		return Object(listing(r.List(c.View)))
	}
	limit := defaultFound
	if args.Limit > 0 {
		limit = min(args.Limit, maxFound)
	}
	hits, err := r.Search(args.Query, c.View, limit)
	if err != nil {
		return Result{}, err
	}
	return Object(ranked(hits))
}

// whole returns a tool with its schema.
func whole(t *Tool) found {
	return found{
		Name:        t.Name,
		Description: t.Description,
		Source:      t.Source,
		Schema:      t.Input,
	}
}

// MarkOf returns what begins the description of a tool of a mounted server, so that a model knows whose words follow.
func MarkOf(mount string) string { return "(The words of the mounted server " + mount + ":) " }

// Words returns the description without the mark of a mounted server, for people who are shown the server beside it.
func (t *Tool) Words() string { return strings.TrimPrefix(t.Description, MarkOf(t.Mount)) }

// BriefOf returns the beginning of a tool's description, in one line.
func BriefOf(t *Tool) string { return mdtext.Brief(t.Description, maxBrief) }

// brief returns the name of a tool with a short description.
func brief(t *Tool) found {
	return found{
		Name:        t.Name,
		Description: BriefOf(t),
	}
}

// A budget is what a result may still take, in bytes of JSON.
type budget int

// take reports whether there is room for a value, and takes it.
func (b *budget) take(v any) bool {
	encoded, err := plainjson.Marshal(v)
	if err != nil || len(encoded) > int(*b) {
		return false
	}
	*b -= budget(len(encoded))
	return true
}

// Describe returns descriptions of tools: whole ones as long as they and those before have at most 24,000 bytes
// of JSON, and else brief ones. isCut reports whether there are brief ones.
func Describe[D any](all []Tool, whole, brief func(*Tool) D) (described []D, isCut bool) {
	described = make([]D, 0, len(all))
	room := budget(maxWhole)
	for i := range all {
		d := whole(&all[i])
		if !room.take(d) {
			d = brief(&all[i])
			isCut = true
		}
		described = append(described, d)
	}
	return described, isCut
}

// CutNote tells a model how to get what Describe has left out.
const CutNote = "The tools without inputSchema are not whole: the query " + selection + "NAME,NAME of " + SearchName + " returns those that you name."

// ranked returns the result with tools that a search has found. Those that have no room are not whole.
func ranked(hits []Tool) searchResult {
	var result searchResult
	var isCut bool
	result.Tools, isCut = Describe(hits, whole, brief)
	if isCut {
		result.Note = CutNote
	}
	if len(hits) == 0 {
		result.Note = "No tool has any of these words; an empty query lists all tools."
	}
	return result
}

// listing returns the result with the names of all tools, and short descriptions as far as there is room.
func listing(all []Tool) searchResult {
	result := searchResult{
		Tools: []found{},
		Note:  "These are names and short descriptions: the query " + selection + "NAME,NAME returns the tools that you name, with their schemas.",
	}
	room := budget(maxWhole)
	for i := range all {
		f := brief(&all[i])
		if !room.take(f) {
			f.Description = ""
		}
		result.Tools = append(result.Tools, f)
	}
	return result
}

// selectTools returns the result with the tools of a list of names, whole. It waits for tools that may
// still come.
func (r *Registry) selectTools(ctx context.Context, c Call, list string) (Result, error) {
	names := namesIn(list)
	if len(names) == 0 || len(names) > maxFound {
		return Result{}, fmt.Errorf("%s is followed by 1 to %d names of tools, with commas between them", selection, maxFound)
	}
	result := searchResult{Tools: []found{}}
	var missing []string
	for _, name := range names {
		t, ok, err := r.find(ctx, name, c.View)
		switch {
		case errors.Is(err, core.ErrClosed):
			return Result{}, NotBegun(SearchName, err)
		case ctx.Err() != nil:
			return Result{}, context.Cause(ctx)
		case ok:
			result.Tools = append(result.Tools, whole(&t))
		case err != nil:
			missing = append(missing, fmt.Sprintf("%.120s is not known yet: %s", name, err))
		default:
			missing = append(missing, r.noTool(name, c).Error())
		}
	}
	result.Note = strings.Join(missing, "\n")
	return Object(result)
}

// namesIn returns the names in a list, each once, and as the gateway knows them: claude puts a prefix
// before them.
func namesIn(list string) (names []string) {
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimPrefix(strings.TrimSpace(name), toolset.Prefix)
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
