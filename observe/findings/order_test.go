package findings

import (
	"fmt"
	"testing"

	"bareclaw/internal/testkit/check"
	"bareclaw/observe/rules"
)

// TestFindingsAreBounded: the resolved one that is the oldest goes first, then the one that was not seen for the longest time.
func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	judge := func(endpoint string, matches ...rules.Match) {
		j := a.request(matches...)
		j.Endpoint = endpoint
		a.store.Judge(j)
	}
	for i := range maxFindings {
		judge(fmt.Sprintf("GET /%d", i), flaw(7))
	}
	for _, endpoint := range []string{"GET /500", "GET /400"} {
		for range CleanHitsForResolution {
			judge(endpoint)
		}
	}
	has := func(endpoint string) bool {
		_, ok := a.store.Finding(rules.FindingID("n1", endpoint, flaw(7).Description))
		return ok
	}
	for i, goes := range []string{"GET /500", "GET /400", "GET /0", "GET /1"} {
		if !has(goes) {
			t.Errorf("%s went too early", goes)
		}
		judge(fmt.Sprintf("GET /new/%d", i), flaw(7))
		if has(goes) || len(a.store.All()) != maxFindings {
			t.Errorf("%s did not go; there are %d", goes, len(a.store.All()))
		}
	}
	a.store.save()
	a.open()
	if len(a.store.All()) != maxFindings {
		t.Errorf("%d are loaded", len(a.store.All()))
	}
}

// TestWhatIsForgotten: of too many findings the resolved ones go first, then what is good to know, then warnings; a new one
// that is less than all of them is not kept, and what nobody will fix stays, so that it is not told again.
func TestWhatIsForgotten(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	see := func(rule, endpoint string) string {
		j := a.request(flaw(7))
		j.Rule = ruleOf(rule)
		j.Endpoint = endpoint
		a.store.Judge(j)
		return rules.FindingID(rule, endpoint, flaw(7).Description)
	}
	info := see("large-response", "GET /info")
	unwanted := see("slow", "GET /unwanted")
	gone := see("slow", "GET /gone")
	for _, id := range []string{unwanted, gone} {
		for range CleanHitsForResolution {
			j := a.request()
			j.Rule = ruleOf("slow")
			j.Endpoint = map[string]string{unwanted: "GET /unwanted", gone: "GET /gone"}[id]
			a.store.Judge(j)
		}
	}
	_, err := a.store.Report(unwanted, WontFix, "")
	check.OK(t, err)
	critical := see("n1", "GET /critical")
	for i := range maxFindings - 4 {
		see("slow", fmt.Sprintf("GET /%d", i))
	}
	has := func(id string) bool {
		_, ok := a.store.Finding(id)
		return ok
	}
	goesFor := func(id, rule, endpoint string) {
		t.Helper()
		if !has(id) {
			t.Errorf("%s went too early", id)
		}
		see(rule, endpoint)
		if has(id) || len(a.store.All()) != maxFindings {
			t.Errorf("%s did not go; there are %d", id, len(a.store.All()))
		}
	}
	goesFor(gone, "large-response", "GET /second")
	goesFor(info, "slow", "GET /third")
	goesFor(rules.FindingID("large-response", "GET /second", flaw(7).Description), "n1", "GET /fourth")
	if less := see("large-response", "GET /fifth"); has(less) {
		t.Error("a warning went for what is good to know")
	}
	for i := range maxFindings {
		see("n1", fmt.Sprintf("GET /more/%d", i))
		if i < maxFindings-3 && !has(critical) {
			t.Fatalf("the critical one went for the new one number %d", i)
		}
	}
	if less := see("slow", "GET /sixth"); has(less) {
		t.Error("a critical one went for a warning")
	}
	if !has(unwanted) {
		t.Error("what nobody will fix was forgotten")
	}
}
