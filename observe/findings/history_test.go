package findings

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/observe/rules"
)

func openHistory(t *testing.T, dir string) *History {
	t.Helper()
	return openHistoryOf(t, dir, "a")
}

// openHistoryOf opens the history of a store of findings.
func openHistoryOf(t *testing.T, dir, store string) *History {
	t.Helper()
	owner := &Store{
		id:     store,
		stores: &memoryStores{id: store},
	}
	h, err := OpenHistory(dir, owner, slog.New(slog.DiscardHandler))
	check.OK(t, err)
	return h
}

// TestHistory: the figures of a run are exact, and later runs have them, also those of a later observer.
func TestHistory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), ".brakit")
	h := openHistory(t, dir)
	for i := range 40 {
		m := Measuring{
			Run:      1,
			Endpoint: "GET /items",
			At:       after(i),
			Took:     time.Duration(40-i) * time.Millisecond,
			Queries:  -1,
		}
		if i%2 == 0 {
			m.Queries = i % 4
		}
		h.Add(m)
	}
	h.Add(Measuring{Run: 1, Endpoint: "GET /", At: after(1), Took: time.Millisecond, Queries: -1})
	if earlier := h.Earlier("GET /items"); len(earlier) != 0 {
		t.Errorf("in the first run there are earlier ones: %+v", earlier)
	}
	first := rules.RunFigures{Requests: 40, P95: 38, Queries: 1}
	h.Add(Measuring{Run: 2, Endpoint: "GET /items", At: after(100), Took: 5 * time.Millisecond})
	h.Add(Measuring{Run: 1, Endpoint: "GET /items", At: after(99), Took: time.Hour}) // came too late
	if earlier := h.Earlier("GET /items"); !slices.Equal(earlier, []rules.RunFigures{first}) {
		t.Errorf("earlier runs are %+v", earlier)
	}
	h.save()
	h = openHistory(t, dir)
	want := []rules.RunFigures{first, {Requests: 1, P95: 5}}
	if earlier := h.Earlier("GET /items"); !slices.Equal(earlier, want) {
		t.Errorf("after a restart earlier runs are %+v", earlier)
	}
	if earlier := h.Earlier("GET /"); len(earlier) != 1 || earlier[0].Queries != -1 {
		t.Errorf("where no queries are known: %+v", earlier)
	}
}

// TestHistoryIsBounded: 50 runs and 500 endpoints, and the latest durations count.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), ".brakit")
	h := openHistory(t, dir)
	for number := range 2 * maxRuns {
		h.Add(Measuring{Run: number, Endpoint: "GET /", At: after(number), Took: time.Duration(number) * time.Millisecond})
	}
	check50 := func(h *History, first float64) {
		t.Helper()
		if earlier := h.Earlier("GET /"); len(earlier) != maxRuns || earlier[0].P95 != first {
			t.Errorf("%d earlier runs, from %v ms", len(earlier), earlier[0].P95)
		}
	}
	check50(h, maxRuns-1)
	h.save()
	check50(openHistory(t, dir), maxRuns)
	for i := range 2 * maxRunEndpoints {
		h.Add(Measuring{Run: 2 * maxRuns, Endpoint: fmt.Sprint("GET /", i), At: after(i)})
	}
	for i := range 10 * maxPoints {
		h.Add(Measuring{Run: 2 * maxRuns, Endpoint: "GET /0", At: after(i), Took: time.Duration(i/maxPoints) * time.Second})
	}
	h.Add(Measuring{Run: 1000, Endpoint: "GET /0"})
	if len(h.index) != maxRunEndpoints+1 {
		t.Errorf("%d endpoints are kept", len(h.index))
	}
	if earlier := h.Earlier("GET /0"); earlier[0].P95 != 9000 || earlier[0].Requests != 10*maxPoints+1 {
		t.Errorf("the figures are %+v", earlier)
	}
}

// TestHistoryFile: figures are saved every 30 s, and a file that cannot be used is renamed.
func TestHistoryFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), ".brakit")
	synctest.Test(t, func(t *testing.T) {
		h := openHistory(t, dir)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			h.Run(ctx)
			close(ended)
		}()
		h.Add(Measuring{Run: 1, Endpoint: "GET /", At: after(1)})
		h.Add(Measuring{Run: 1, Endpoint: "GET /", At: after(2)})
		time.Sleep(metricsInterval)
		synctest.Wait()
		if earlier := openHistory(t, dir).Earlier("GET /"); len(earlier) != 1 || earlier[0].Requests != 2 {
			t.Errorf("saved are %+v", earlier)
		}
		h.Add(Measuring{Run: 1, Endpoint: "GET /", At: after(3)})
		cancel()
		<-ended
		if earlier := openHistory(t, dir).Earlier("GET /"); len(earlier) != 1 || earlier[0].Requests != 3 {
			t.Errorf("saved at the end are %+v", earlier)
		}
	})
	for _, contents := range []string{"{", `{"version":9}`, `{"version":1,"store":"a","runs":[{}]}`} {
		check.OK(t, os.WriteFile(filepath.Join(dir, "metrics.json"), []byte(contents), 0o600))
		openHistory(t, dir)
	}
	entries, err := os.ReadDir(dir)
	check.OK(t, err)
	corrupt := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "metrics.json.corrupt-") {
			corrupt++
		}
	}
	if corrupt != 3 {
		t.Errorf("%d files were renamed: %v", corrupt, entries)
	}
}

// TestForeignHistory: figures that came with the directory are set aside, and those that are the store's own are kept when its
// findings are cleared.
func TestForeignHistory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), ".brakit")
	h := openHistoryOf(t, dir, "another")
	h.Add(Measuring{Run: 1, Endpoint: "GET /", At: after(1)})
	h.save()
	h = openHistoryOf(t, dir, "a")
	if earlier := h.Earlier("GET /"); len(earlier) > 0 {
		t.Errorf("figures of another store are believed: %+v", earlier)
	}
	aside, err := filepath.Glob(filepath.Join(dir, "metrics.json.foreign-*"))
	if err != nil || len(aside) != 1 {
		t.Errorf("set aside are %v, %v", aside, err)
	}
	h.Add(Measuring{Run: 1, Endpoint: "GET /", At: after(1)})
	h.save()
	h.owner.id = "cleared"
	h.save()
	if earlier := openHistoryOf(t, dir, "cleared").Earlier("GET /"); len(earlier) != 1 {
		t.Errorf("after the findings were cleared: %+v", earlier)
	}
}
