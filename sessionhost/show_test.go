package sessionhost

import (
	"reflect"
	"testing"

	"bareclaw/core"
	"bareclaw/sessionhost/claude"
)

// What claude shows and what adapters are shown have the same words and fields.
func TestShowKinds(t *testing.T) {
	t.Parallel()
	for kind, want := range map[claude.ShownKind]core.ShownKind{
		claude.ShowTextBegin: core.ShownTextBegin, claude.ShowTextDelta: core.ShownTextDelta, claude.ShowText: core.ShownText,
		claude.ShowThinking: core.ShownThinking, claude.ShowTool: core.ShownTool, claude.ShowToolEnd: core.ShownToolEnd,
		claude.ShowCompacting: core.ShownCompacting, claude.ShowCompacted: core.ShownCompacted,
		claude.ShowRetry: core.ShownRetry, claude.ShowTasks: core.ShownTasks,
	} {
		if core.ShownKind(kind) != want {
			t.Errorf("%q is %q", kind, want)
		}
	}
	from, to := reflect.TypeFor[claude.Shown](), reflect.TypeFor[core.Shown]()
	for i := range max(from.NumField(), to.NumField()) {
		if from.NumField() != to.NumField() || from.Field(i).Name != to.Field(i).Name {
			t.Fatalf("%s has other fields than %s", from, to)
		}
	}
}

func TestShow(t *testing.T) {
	t.Parallel()
	line := []byte(`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"c","name":"Read","input":{"file_path":"/f"}},{"type":"text","text":"x"}]},"uuid":"u","parent_tool_use_id":"p"}`)
	want := []core.Shown{
		{Kind: core.ShownTool, ID: "c", Message: "m", Parent: "p", Tool: "Read", Target: "/f", Input: []byte(`{"file_path":"/f"}`)},
		{Kind: core.ShownText, ID: "u/1", Message: "m", Parent: "p", Text: "x"},
	}
	if got := Show(line); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Show([]byte(`{"type":"system","subtype":"init"}`)); got != nil {
		t.Errorf("%+v of a line that shows nothing", got)
	}
}
