package tools_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"bareclaw/core/tools"
	"bareclaw/core/tools/gateway"
	"bareclaw/core/tools/intent"
	"bareclaw/internal/testkit/check"
	"bareclaw/toolhost/builtin"
)

// A label is a query with the tool that it asks for.
type label struct{ query, tool string }

// labels are queries as models and people write them.
var labels = []label{
	{"compare json", "object_diff"},
	{"are these two objects the same", "assert_equals"},
	{"difference between two files of text", "string_diff"},
	{"unified diff", "string_diff"},
	{"pretty print json", "json_format"},
	{"minify JSON", "json_format"},
	{"validate against a schema", "json_validator"},
	{"jsonschema validator", "json_validator"},
	{"regular expression", "regex_test"},
	{"regexp match groups", "regex_test"},
	{"fill placeholders of a template", "template_render"},
	{"sha256 checksum", "hash_text"},
	{"md5 of a string", "hash_text"},
	{"decode base64", "base64_encode"},
	{"sort and remove duplicates of a list", "array_operations"},
	{"mean median standard deviation", "math_stats"},
	{"percentile", "math_stats"},
	{"what time is it", "timestamp_now"},
	{"current time", "timestamp_now"},
	{"days between two dates", "date_utils"},
	{"add a month to a date", "date_utils"},
	{"parse query parameters of a url", "url_parse"},
	{"what does status 404 mean", "http_status_info"},
	{"sleep for a second", "wait_ms"},
	{"delay milliseconds", "wait_ms"},
	{"fake names and email addresses", "data_generate"},
	{"sql injection strings for testing", "data_edge_cases"},
	{"sample data for a schema", "data_from_schema"},
	{"pick a random element", "random_choice"},
	{"flaky tests", "test_flaky_detect"},
	{"which tests should run first", "test_prioritize"},
	{"duplicate tests", "test_deduplicate"},
	{"untested areas coverage", "test_coverage_gaps"},
	{"slowest tests", "report_timing"},
	{"failed tests with errors", "report_failures"},
	{"performance got worse benchmark", "performance_regression"},
	{"which node version and platform is this", "env_info"},
	{"ask another agent", "channel_send"},
	{"send file to user", "push_send"},
	{"notify people", "push_send"},
	{"remind me tomorrow", "schedule_create"},
	{"cron job", "schedule_create"},
	{"cancel a scheduled message", "schedule_delete"},
	{"scheduling", "schedule_list"},
	{"restart the gateway", "restart_self"},
	{"which channels exist", "channel_list"},
	{"what happened to my message", "message_trace"},
	{"channelList", "channel_list"},
	{"assert_range", "assert_range"},
	{"number in bounds", "assert_range"},
}

// TestSearchFindsWhatIsAskedFor measures the search by labels, over the tools that the program has.
func TestSearchFindsWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	var all []request
	for _, l := range labels {
		all = append(all, request{l.query, []string{l.tool}})
	}
	wantRecall(t, ownTools(), all, 0.85)
}

// ownTools returns the sources of the tools that the program has without files or mounts.
func ownTools() []tools.Source {
	return []tools.Source{
		tools.Dispatchers(),
		gateway.Source(gateway.Options{}),
		intent.Source(),
		tools.Fixed("builtin", builtin.Tools()...),
	}
}

// wantRecall holds that a share of the requests finds a right tool among the first five.
func wantRecall(t *testing.T, sources []tools.Source, all []request, share float64) {
	t.Helper()
	r, err := tools.NewRegistry(tools.Options{Log: slog.New(slog.DiscardHandler), Sources: sources})
	check.OK(t, err)
	var found recall
	for _, q := range all {
		for _, name := range q.tools {
			if _, known := r.Find(name); !known {
				t.Errorf("%s is not a tool", name)
			}
		}
		names := search(t, r, q.query)
		place := slices.IndexFunc(names, func(name string) bool { return slices.Contains(q.tools, name) })
		found.count(place)
		if place < 0 || place >= 5 {
			t.Logf("%q finds %v at %d; first %v", q.query, q.tools, place, names[:min(len(names), 5)])
		}
	}
	t.Log(found)
	if found.atFive() < share {
		t.Errorf("want a recall@5 of %.2f", share)
	}
}

// recall counts at which places requests find a right tool.
type recall struct {
	requests, first, five, ten int
}

// count counts a request by the place of its tool; negative: it is not found.
func (r *recall) count(place int) {
	r.requests++
	if place < 0 {
		return
	}
	if place == 0 {
		r.first++
	}
	if place < 5 {
		r.five++
	}
	if place < 10 {
		r.ten++
	}
}

// atFive returns the share of requests that find a right tool among the first five.
func (r recall) atFive() float64 { return r.share(r.five) }

func (r recall) share(n int) float64 { return float64(n) / float64(r.requests) }

func (r recall) String() string {
	return fmt.Sprintf("of %d requests recall@1 %.3f, recall@5 %.3f, recall@10 %.3f", r.requests, r.share(r.first), r.atFive(), r.share(r.ten))
}

// search returns the names that tool_search finds, the best first.
func search(t *testing.T, r *tools.Registry, query string) (names []string) {
	t.Helper()
	args, err := json.Marshal(map[string]string{"query": query})
	check.OK(t, err)
	result, err := r.Call(t.Context(), tools.SearchName, tools.Call{Args: args})
	check.OK(t, err)
	var list struct {
		Tools []struct{ Name string }
	}
	check.OK(t, json.Unmarshal(result.Structured, &list))
	for _, found := range list.Tools {
		names = append(names, found.Name)
	}
	return names
}
