package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/cli/command"
)

// TestActivity holds what the spinner shows after each event of a stream.
func TestActivity(t *testing.T) {
	t.Parallel()
	a := newActivity()
	for _, row := range []struct{ kind, data, want string }{
		{"accepted", `{"message_id":"m1"}`, "Starting"},
		{"queued", `{"message_id":"m1","position":2}`, "Waiting, number 2 in the queue"},
		{"queued", `{"message_id":"m1","position":1,"why":"no login"}`, "Waiting: no login"},
		{"started", `{"turn_id":"t1","messages":["m0","m1"]}`, "Working"},
		{"approval", `{"id":"a1","state":"pending","tool":"Bash","input":{"command":"rm -r x"}}`, "Waiting for permission: Bash (bareclaw approvals)"},
		{"approval_closed", `{"id":"a1","state":"allowed","tool":"Bash"}`, "Working"},
		{"event", `{"type":"stream_event","event":{"type":"content_block_start","content_block":{"type":"thinking"}}}`, "Thinking"},
		{"event", `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c1","name":"Read","input":{"file_path":"/x"}}]}}`, "Read: /x"},
		{"event", `not JSON`, "Read: /x"},
		{"event", `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1"}]}}`, "Working"},
	} {
		u, ok, err := a.updates.Take(client.Event{Kind: row.kind, Data: row.data})
		if got := a.take(u); got != row.want || !ok || err != nil {
			t.Errorf("after %s %s it shows %q, %v, want %q", row.kind, row.data, got, err, row.want)
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

// TestAnswersThatCannotBeUnderstood: what the gateway says and this program does not
// understand is told, and not passed over.
func TestAnswersThatCannotBeUnderstood(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]bool{"": false, "schedules": true, "channels": true} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked := strings.TrimPrefix(r.URL.Path, "/"); asked == name {
				_, _ = io.WriteString(w, `{"channels":{},"schedules":[{"next":"2030-05-06T07:00:00Z"}]}`)
				return
			}
			_, _ = io.WriteString(w, `{}`)
		}))
		c := &command.Context{Context: t.Context(), Out: io.Discard, Err: io.Discard}
		_, err := look(c, client.OverTCP(server.Listener.Addr().String(), ""))
		if server.Close(); wrong != (err != nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, kind := range []string{"queued", "approval", "notice"} {
		var said strings.Builder
		newActivity().watch(command.StartSpinner(&said, ""), client.Event{Kind: kind, Data: `{"position":"first","tool":1,"text":2}`})
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
		newActivity().watch(command.StartSpinner(&out, ""), client.Event{Kind: "notice", Data: `{"code":"` + code + `","text":"Something happened."}`})
		if got := out.String() != ""; got != told {
			t.Errorf("of a notice %s is told %q", code, out.String())
		}
	}
}
