package cli

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
)

func TestTablesFit(t *testing.T) {
	t.Parallel()
	red := func(s string) string { return "<" + s + ">" }
	table := &table{widest: []int{6}}
	table.add(text("NAME"), text("STATE"), text(""))
	table.add(text("a very long name"), text("ok").painted(red), text("all that is\nto say"))
	table.add(text("日本語日本語"), text("waiting"), text("x"))
	want := []string{"NAME    STATE", "a ver…  <ok>       all t…", "日本…   waiting  x"}
	if got := table.lines(23); !slices.Equal(got, want) {
		t.Errorf("the table is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := table.lines(7); got[1] != "a ver…" {
		t.Errorf("in 7 columns the row is %q", got[1])
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	if now := time.Now(); humanize.Ago(now, now) != "just now" || humanize.Ago(now.Add(-time.Minute), now) != "1m ago" {
		t.Errorf("a moment ago is %q, a minute is %q", humanize.Ago(now, now), humanize.Ago(now.Add(-time.Minute), now))
	}
	for d, want := range map[time.Duration]string{
		-time.Second: "0ms", 12 * time.Millisecond: "12ms", 1900 * time.Millisecond: "1.9s", 9999 * time.Millisecond: "9.9s", 59*time.Second + 999*time.Millisecond: "59s",
		61 * time.Second: "1m01s", 25 * time.Hour: "1d01h", 90 * time.Minute: "1h30m",
	} {
		if got := humanize.Duration(d); got != want {
			t.Errorf("span(%s) = %s, want %s", d, got, want)
		}
	}
	now := time.Now()
	for d, want := range map[time.Duration]string{0: "now", 2 * time.Second: "2s", 90 * time.Second: "1m", 3 * time.Hour: "3h00m"} {
		if got := humanize.Age(now.Add(-d), now); got != want {
			t.Errorf("age(%s) = %s, want %s", d, got, want)
		}
	}
	if got := humanize.Age(time.Time{}, now); got != "" {
		t.Errorf("age of nothing is %s", got)
	}
	if a, b := humanize.Count(1, "delivery"), humanize.Count(0, "delivery"); a != "1 delivery" || b != "0 deliveries" {
		t.Errorf("%s, %s", a, b)
	}
}

func TestDoing(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ kind, data, want string }{
		{"queued", `{"position":2}`, "waits, number 2 in the queue"},
		{"queued", `{"position":1,"why":"no login"}`, "waits: no login"},
		{"started", `{}`, "at work"},
		{"approval", `{"tool":"Bash","input":{"command":"rm -r x"}}`, "waits for permission: Bash: rm -r x (bareclaw approvals)"},
		{"event", `{"type":"assistant","message":{"content":[{"type":"text"},{"type":"tool_use","name":"Read","input":{"file_path":"/x"}}]}}`, "Read: /x"},
		{"event", `{"type":"assistant","message":{"content":"text"}}`, ""},
		{"event", `{"type":"stream_event","event":{"type":"content_block_start","content_block":{"type":"thinking"}}}`, "thinks"},
		{"event", `{"type":"stream_event","event":{"type":"content_block_start","content_block":{"type":"text"}}}`, "writes"},
		{"event", `{"type":"user","message":{}}`, "at work"},
		{"event", `not JSON`, ""},
		{"notice", `{}`, ""},
	} {
		if got, err := doing(client.Event{Kind: row.kind, Data: row.data}); err != nil || got != row.want {
			t.Errorf("doing(%s %s) = %q, %v, want %q", row.kind, row.data, got, err, row.want)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ in, want []string }{
		{[]string{"help"}, []string{"--help"}},
		{[]string{"help", "send"}, []string{"send", "--help"}},
		{[]string{"send", "help", "- a list\n- b", "x"}, []string{"send", "help", "--", "- a list\n- b", "x"}},
		{[]string{"send", "x", "--", "- a list"}, []string{"send", "x", "--", "- a list"}},
		{[]string{"approvals", "deny", "x", "--message=not now"}, []string{"approvals", "deny", "x", "--message=not now"}},
		{[]string{"send", "x", "-"}, []string{"send", "x", "-"}},
		{nil, nil},
	} {
		if got := Arguments(row.in); !slices.Equal(got, row.want) {
			t.Errorf("Arguments(%q) = %q, want %q", row.in, got, row.want)
		}
	}
}

func TestJSONCommandsNoTerminal(t *testing.T) {
	t.Parallel()
	text := "\x1b[31m \u009b \u202e \x7f ü \n"
	raw, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	shown := escaped(raw)
	var back string
	if err := json.Unmarshal([]byte(shown), &back); err != nil || back != text {
		t.Errorf("%s is %q, %v", shown, back, err)
	}
	if term.Safe(shown) != shown {
		t.Errorf("%q commands the terminal", shown)
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "", 1: "c\n", 2: "b\nc\n", 9: "a\nb\nc\n"} {
		if got := lastLines("a\nb\nc\n", n); got != want {
			t.Errorf("lastLines(%d) = %q, want %q", n, got, want)
		}
	}
}

// TestAnswersThatCannotBeUnderstood: what the gateway says and this program does not
// understand is told, and not passed over.
func TestAnswersThatCannotBeUnderstood(t *testing.T) {
	t.Parallel()
	good := overview{Health: json.RawMessage(`{"status":"ok"}`), Channels: json.RawMessage(`[]`), Approvals: json.RawMessage(`[]`), Schedules: json.RawMessage(`[]`)}
	bad := json.RawMessage(`[{"next":"2030-05-06T07:00:00Z"}]`)
	c := &Context{Out: io.Discard, Err: io.Discard}
	for name, change := range map[string]func(*overview){
		"": func(*overview) {}, "no schedules": func(o *overview) { o.Schedules = nil },
		"schedules": func(o *overview) { o.Schedules = bad }, "channels": func(o *overview) { o.Channels = json.RawMessage(`{}`) },
	} {
		o := good
		change(&o)
		_, err := overviewLines(c, &o)
		if wrong := err != nil; wrong != (name == "schedules" || name == "channels") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, kind := range []string{"queued", "approval", "notice"} {
		var said strings.Builder
		watch(&spinner{w: &said, stop: make(chan struct{})}, client.Event{Kind: kind, Data: `{"position":"first","tool":1,"text":2}`})
		if !strings.Contains(said.String(), "could not be understood: "+kind) {
			t.Errorf("of an event %s that cannot be understood is told %q", kind, said.String())
		}
	}
}

// TestWhatIsNotShownIsNotMissed: who waits for an answer sees nothing of the stream, so
// that lines of it were left out is not told either.
func TestWhatIsNotShownIsNotMissed(t *testing.T) {
	t.Parallel()
	for code, told := range map[string]bool{"dropped": false, "gap": false, "stalled": true} {
		var out strings.Builder
		watch(&spinner{w: &out}, client.Event{Kind: "notice", Data: `{"code":"` + code + `","text":"Something happened."}`})
		if got := out.String() != ""; got != told {
			t.Errorf("of a notice %s is told %q", code, out.String())
		}
	}
}
