package toolhost

import "strings"

// builtinNames are the names of the tools that the program of the tool host brings along.
const builtinNames = "array_operations assert_contains assert_equals assert_json_schema assert_range assert_truthy assert_type base64_encode " +
	"data_edge_cases data_from_schema data_generate date_utils env_info hash_text hello_world http_status_info json_format " +
	"json_validator math_stats object_diff performance_regression random_choice regex_test report_failures report_summary " +
	"report_timing string_diff template_render test_coverage_gaps test_deduplicate test_flaky_detect test_prioritize timestamp_now " +
	"url_parse wait_ms"

// BuiltinNames returns the names of the tools that the program of the tool host brings along. They are known before a
// tool host runs: nobody else may have such a name, not even until it does.
func BuiltinNames() []string { return strings.Fields(builtinNames) }
