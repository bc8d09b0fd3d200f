package sqlite_test

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/core/ledger/ledgertest"
	"bareclaw/internal/testkit/check"
)

// TestListsReadNoBodies lists messages whose large contents are gone from the file.
func TestListsReadNoBodies(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openAt(t, path)
	image := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + strings.Repeat("AAAA", 1<<14) + `"}}`
	contents := []core.Content{
		{Text: "short"},
		{Text: strings.Repeat("long ", 1<<10)},
		{Blocks: []json.RawMessage{json.RawMessage(`{"type":"text","text":"what is this?"}`), json.RawMessage(image)}},
		{Text: "amended"},
	}
	var all []*core.Message
	for _, c := range contents {
		m := ledgertest.Message("c")
		m.Content, m.Prompt = c, core.PromptOf(c)
		all = append(all, m)
		ledgertest.MustWrite(t, l, core.Change{Accept: []*core.Message{m}})
	}
	c := core.Content{Blocks: []json.RawMessage{json.RawMessage(image)}}
	all[3].Content, all[3].Prompt = c, core.PromptOf(c)
	ledgertest.MustWrite(t, l, core.Change{Amend: []*core.Message{all[3]}})
	check.OK(t, l.Close())
	run(t, path, "DELETE FROM bodies")
	l = openAt(t, path)
	listed, err := l.Messages(t.Context(), "c", 10, "")
	check.OK(t, err)
	if len(listed) != len(all) {
		t.Fatalf("%d messages, want %d", len(listed), len(all))
	}
	for i, m := range listed {
		want := all[len(all)-1-i]
		if !reflect.DeepEqual(m.Prompt, want.Prompt.Short()) {
			t.Errorf("message %d is listed as %+.200v, want %+.200v", i, m.Prompt, want.Prompt.Short())
		}
	}
}
