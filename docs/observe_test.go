package docs

import (
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
	"bareclaw/observe/capture"
	"bareclaw/observe/rules"
)

// TestProofsAreDocumented holds the table of what proves a problem gone to the rules: their order, whether it takes telemetry,
// and which replies count.
func TestProofsAreDocumented(t *testing.T) {
	t.Parallel()
	all := rules.All()
	table := rows(t, "docs/observe.md", "| rule | the request | its answer |")
	if len(table) != len(all) {
		t.Fatalf("the table has %d rules, and there are %d", len(table), len(all))
	}
	const columns = 3
	for i, cells := range table {
		rule := &all[i]
		if len(cells) != columns || cells[0] != "`"+rule.ID+"`" {
			t.Errorf("%s: the table has %q", rule.ID, cells)
			continue
		}
		isTelemetry := strings.Contains(cells[1], "telemetry") || strings.Contains(cells[1], "made queries") || strings.Contains(cells[1], "lines are known")
		needsTelemetry := rule.Needs&(capture.Queried|capture.Logged) != 0 || rule.ID == "error" || rule.ID == "regression"
		if isTelemetry != needsTelemetry {
			t.Errorf("%s needs %b, and of its requests the table says %q", rule.ID, rule.Needs, cells[1])
		}
		if strings.Contains(cells[2], "same status") != (rule.Proof == rules.ByKind) ||
			strings.HasPrefix(cells[2], "a success") != (rule.Proof == rules.BySuccess) ||
			strings.Contains(cells[2], "to the same request") != (rule.Proof != rules.ByAny) {
			t.Errorf("%s goes by proof %d, and of the answer the table says %q", rule.ID, rule.Proof, cells[2])
		}
	}
}

// TestRulesAreDocumented holds the table of docs/observe.md to the rules: their order, their severity, and which source
// can say something at all.
func TestRulesAreDocumented(t *testing.T) {
	t.Parallel()
	all := rules.All()
	table := rows(t, "docs/observe.md", "| rule | severity | proxy |")
	if len(table) != len(all) {
		t.Fatalf("the table has %d rules, and there are %d", len(table), len(all))
	}
	const columns = 6
	for i, cells := range table {
		rule := &all[i]
		if len(cells) != columns || cells[0] != "`"+rule.ID+"`" || cells[1] != string(rule.Severity) {
			t.Errorf("%s, %s: the table has %q", rule.ID, rule.Severity, cells)
			continue
		}
		proxy, telemetry, sdk, output := cells[2], cells[3], cells[4], cells[5]
		saysNothing := func(cell string) bool { return strings.HasPrefix(cell, "–") }
		isInside := !rule.Needs.Has(capture.Response)
		switch rule.ID {
		case "error", "error-hotspot": // go by what there is
			isInside = rule.ID == "error"
		}
		if saysNothing(proxy) != isInside {
			t.Errorf("%s needs %b, and of the proxy the table says %q", rule.ID, rule.Needs, proxy)
		}
		if isInside && (saysNothing(telemetry) || saysNothing(sdk)) {
			t.Errorf("%s needs %b, and of what the app tells the table says %q and %q", rule.ID, rule.Needs, telemetry, sdk)
		}
		isBody := rule.Needs.Has(capture.Body)
		if isBody && !saysNothing(telemetry) {
			t.Errorf("%s needs bodies, and of OpenTelemetry the table says %q", rule.ID, telemetry)
		}
		if rule.Needs.Has(capture.Logged) == saysNothing(output) {
			t.Errorf("%s needs %b, and of the output the table says %q", rule.ID, rule.Needs, output)
		}
	}
}

// TestGoAppIsAsShown holds the Go app of docs/observe.md to the one that tests observe: it has each line.
func TestGoAppIsAsShown(t *testing.T) {
	t.Parallel()
	_, section, found := strings.Cut(read(t, filepath.Join(root, "docs/observe.md")), "\n### A Go app\n")
	if !found {
		t.Fatal("docs/observe.md does not show a Go app")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	files, err := filepath.Glob(filepath.Join(root, "internal/testkit/webapps/testdata/goapp/*.go"))
	check.OK(t, err)
	has := map[string]bool{}
	for _, file := range files {
		for line := range strings.Lines(read(t, file)) {
			has[strings.TrimSpace(line)] = true
		}
	}
	shown := 0
	for _, block := range fence.FindAllString(section, -1) {
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "```") {
				continue
			}
			shown++
			if !has[line] {
				t.Errorf("the app does not have the line %q", line)
			}
		}
	}
	if shown == 0 {
		t.Error("no line is shown")
	}
}
