package tools_test

import (
	"encoding/json"
	"log/slog"
	"slices"
	"testing"

	"bareclaw/core/tools"
	"bareclaw/core/tools/gateway"
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
	r, err := tools.NewRegistry(tools.Options{
		Log: slog.New(slog.DiscardHandler),
		Sources: []tools.Source{
			tools.Dispatchers(),
			gateway.Source(gateway.Options{}),
			tools.Fixed("builtin", builtin.Tools()...),
		},
	})
	check.OK(t, err)
	first, among := 0, 0
	for _, l := range labels {
		if _, known := r.Find(l.tool); !known {
			t.Errorf("%s is not a tool", l.tool)
		}
		names := search(t, r, l.query)
		switch place := slices.Index(names, l.tool); {
		case place == 0:
			first++
			among++
		case place > 0 && place < 5:
			among++
			t.Logf("%q finds %s at %d, after %v", l.query, l.tool, place, names[:place])
		default:
			t.Logf("%q finds %s at %d; first %v", l.query, l.tool, place, names[:min(len(names), 5)])
		}
	}
	all := float64(len(labels))
	t.Logf("recall@1 %.2f, recall@5 %.2f", float64(first)/all, float64(among)/all)
	if recall := float64(among) / all; recall < 0.85 {
		t.Errorf("of %d queries %.2f find their tool among the first five", len(labels), recall)
	}
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
