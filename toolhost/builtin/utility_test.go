package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core/tools"
	"bareclaw/internal/schema/value"
	"bareclaw/internal/testkit/check"
)

func checkShuffle(t *testing.T, args, result map[string]any) {
	t.Helper()
	if args["operation"] != "shuffle" {
		return
	}
	got, want := counts(result["result"].([]any)), counts(args["array"].([]any))
	if !maps.Equal(got, want) {
		t.Errorf("shuffled to %v, want the items of %v", got, want)
	}
}

// checkChoice also checks that positions are chosen once, with items that are all different.
func checkChoice(t *testing.T, args, result map[string]any) {
	t.Helper()
	got, items := counts(result["result"].([]any)), counts(args["items"].([]any))
	count, chosen := 1, 0
	if n, ok := args["count"].(json.Number); ok {
		check.OK(t, json.Unmarshal([]byte(n), &count))
	}
	for key, n := range got {
		chosen += n
		if items[key] == 0 || args["unique"] == nil && n > items[key] {
			t.Errorf("%s was chosen %d times and occurs %d times", key, n, items[key])
		}
	}
	if chosen != count {
		t.Errorf("%d items, want %d", chosen, count)
	}
}

func counts(values []any) map[string]int {
	n := map[string]int{}
	for _, v := range values {
		n[value.Key(v)]++
	}
	return n
}

func checkNow(t *testing.T, args, result map[string]any) {
	t.Helper()
	if args["date"] != nil {
		return
	}
	if args["format"] == "unix" {
		checkRecent(t, time.Unix(integer(t, result["result"]), 0))
		return
	}
	layout, ok := map[any]string{"date": time.DateOnly, "datetime": time.DateTime, "time": time.TimeOnly}[args["format"]]
	if !ok {
		layout = isoLayout
	}
	got, err := time.Parse(layout, result["result"].(string))
	check.OK(t, err)
	switch {
	case args["operation"] == "startOf":
		if age := time.Since(got); got.Day() != 1 || age < 0 || age > 32*24*time.Hour {
			t.Errorf("the month starts at %s", got)
		}
	case layout == isoLayout || layout == time.DateTime:
		checkRecent(t, got)
	}
}

func checkTimestamp(t *testing.T, args, result map[string]any) {
	t.Helper()
	members := map[any]string{"iso": "iso", "unix": "unix unixMs", "human": "human timezone"}[args["format"]]
	if members == "" {
		members = "human iso timezone unix unixMs"
	}
	if got := strings.Join(slices.Sorted(maps.Keys(result)), " "); got != members {
		t.Errorf("the result has %s, want %s", got, members)
	}
	if iso, ok := result["iso"].(string); ok {
		got, err := time.Parse(isoLayout, iso)
		check.OK(t, err)
		checkRecent(t, got)
	}
	if result["unix"] != nil {
		ms := integer(t, result["unixMs"])
		checkRecent(t, time.UnixMilli(ms))
		if s := integer(t, result["unix"]); s != ms/1000 {
			t.Errorf("%d seconds, %d milliseconds", s, ms)
		}
	}
}

func checkRecent(t *testing.T, at time.Time) {
	t.Helper()
	if age := time.Since(at); age < 0 || age > time.Minute {
		t.Errorf("%s is %s ago", at, age)
	}
}

func checkEnvironment(t *testing.T, _, result map[string]any) {
	t.Helper()
	if pid := integer(t, result["pid"]); pid != int64(os.Getpid()) {
		t.Errorf("pid is %d", pid)
	}
	for _, name := range []string{"platform", "arch", "runtime", "timezone"} {
		if result[name] == "" {
			t.Errorf("%s is empty", name)
		}
	}
	if integer(t, result["memoryBytes"]) < 1<<20 || integer(t, result["cpus"]) < 1 {
		t.Errorf("%v", result)
	}
}

func integer(t *testing.T, v any) int64 {
	t.Helper()
	n, err := v.(json.Number).Int64()
	check.OK(t, err)
	return n
}

func TestTimestampInZones(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	check.OK(t, err)
	for _, c := range []struct {
		at          time.Time
		human, zone string
	}{
		{time.UnixMilli(0).UTC(), "Thursday, 1 January 1970, 00:00:00 UTC", "UTC (UTC+00:00)"},
		// The clocks are turned forward, and back.
		{time.UnixMilli(1774745999_999).In(berlin), "Sunday, 29 March 2026, 01:59:59 CET", "CET (UTC+01:00)"},
		{time.UnixMilli(1774746000_000).In(berlin), "Sunday, 29 March 2026, 03:00:00 CEST", "CEST (UTC+02:00)"},
		{time.UnixMilli(1792888200_000).In(berlin), "Sunday, 25 October 2026, 02:30:00 CEST", "CEST (UTC+02:00)"},
		{time.UnixMilli(1792891800_000).In(berlin), "Sunday, 25 October 2026, 02:30:00 CET", "CET (UTC+01:00)"},
	} {
		got := timestampOf(c.at, "all")
		if got.Human != c.human || got.TimeZone != c.zone || got.UnixMS != c.at.UnixMilli() || got.ISO != c.at.UTC().Format(isoLayout) {
			t.Errorf("%+v, want %q and %q", got, c.human, c.zone)
		}
	}
}

// TestLongWait holds that the longest wait ends before the limit of the call, and that it can be
// cancelled.
func TestLongWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry := registryOf(t)
		began := time.Now()
		got, err := registry.Call(t.Context(), "wait_ms", tools.Call{Args: json.RawMessage(`{"ms":30000}`)})
		if err != nil || string(got.Structured) != `{"waited":30000}` || time.Since(began) != 30*time.Second {
			t.Errorf("%+v, %v after %s", got, err, time.Since(began))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("withdrawn")) })
		began = time.Now()
		_, err = registry.Call(ctx, "wait_ms", tools.Call{Args: json.RawMessage(`{"ms":30000}`)})
		if err == nil || err.Error() != "withdrawn" || time.Since(began) != time.Second {
			t.Errorf("cancelled: %v after %s", err, time.Since(began))
		}
	})
}
