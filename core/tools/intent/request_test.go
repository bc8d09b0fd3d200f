package intent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
)

// argsOf returns arguments with a value.
func argsOf(t *testing.T, value any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(map[string]any{"value": value})
	check.OK(t, err)
	return b
}

// TestLargeArguments: of arguments with megabytes little is read, and it counts what they are about all the same.
func TestLargeArguments(t *testing.T) {
	t.Parallel()
	var prose, urls []string
	var different, same []any
	for i := range 1200 {
		prose = append(prose, fmt.Sprint("compare the documents ", i, strings.Repeat(" and look at /srv/a", 60)))
		urls = append(urls, fmt.Sprint("https://example.com/", i, strings.Repeat("x", 1000)))
		different = append(different, map[string]any{"id": i, "data": strings.Repeat("x", 1000)})
		same = append(same, map[string]any{"data": "x"})
	}
	nested := any(different)
	for range 6 {
		nested = []any{nested}
	}
	for _, c := range []struct {
		name      string
		value     any
		resources int
	}{
		{"prose", prose, 1000},
		{"URLs", urls, 1000},
		{"objects", different, 1000},
		{"equal objects", same, 1},
		{"objects deep inside", nested, 1000},
		{"three large objects", different[:3], 3},
	} {
		w := walkOf(argsOf(t, c.value))
		if w.bytes > maxRead || w.compared > maxCompared+4000 || w.strings > maxStrings+1 {
			t.Errorf("%s: %d bytes of %d strings are read, and %d bytes compared", c.name, w.bytes, w.strings, w.compared)
		}
		said := readingOf(w.found)
		if said.resources != c.resources {
			t.Errorf("%s: %d resources, want %d", c.name, said.resources, c.resources)
		}
		if n := len(said.all.String()); n > maxRead {
			t.Errorf("%s: the words have %d bytes", c.name, n)
		}
	}
}

// TestEndedContext: nothing is searched for who does not wait any more.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	r, err := tools.NewRegistry(tools.Options{Log: slog.New(slog.DiscardHandler)})
	check.OK(t, err)
	gone := errors.New("the client has left")
	ctx, leave := context.WithCancelCause(t.Context())
	leave(gone)
	a := New(&unsearched{
		Registry: r,
		t:        t,
	})
	request := Request{Text: "compare the documents"}
	if _, err := a.Analyze(ctx, request, tools.View{}); !errors.Is(err, gone) {
		t.Errorf("Analyze: %v", err)
	}
	if _, err := a.Curate(ctx, request, tools.View{}); !errors.Is(err, gone) {
		t.Errorf("Curate: %v", err)
	}
}

// unsearched is a catalog that must not be searched.
type unsearched struct {
	*tools.Registry
	t *testing.T
}

// Search implements Catalog.
func (u *unsearched) SearchWords(query string, _ tools.View, _ int) ([]tools.Tool, error) {
	u.t.Errorf("searched for %q", query)
	return nil, nil
}

// BenchmarkLargeArguments measures a bag for a request with 4 MB of arguments.
func BenchmarkLargeArguments(b *testing.B) {
	r, err := tools.NewRegistry(tools.Options{Log: slog.New(slog.DiscardHandler)})
	check.OK(b, err)
	keys := map[string]string{}
	var texts []string
	for i := range 1000 {
		texts = append(texts, fmt.Sprint(i, strings.Repeat(" compare https://example.com/ a b", 120)))
	}
	for i := range 200_000 {
		keys[fmt.Sprint("key", i)] = "x"
	}
	for name, value := range map[string]any{
		"texts": texts,
		"keys":  keys,
	} {
		args, err := json.Marshal(map[string]any{"value": value})
		check.OK(b, err)
		b.Run(name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				n++
				request := Request{
					Text: fmt.Sprint("compare ", n),
					Args: args,
				}
				_, err := New(r).Curate(b.Context(), request, tools.View{})
				check.OK(b, err)
			}
		})
	}
}
