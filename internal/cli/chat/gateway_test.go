package chat

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core"
	"bareclaw/internal/term"
	"bareclaw/internal/testkit/check"
)

// served returns the gateway of a chat whose requests a function answers.
func served(t *testing.T, answer http.HandlerFunc) *gateway {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	c := client.OverTCP(server.Listener.Addr().String(), "")
	return &gateway{channel: "desk", Client: c, decider: c}
}

// TestInterruptThatComesTooLate: where the turn has ended meanwhile all is as was wanted,
// and nothing is said; anything else that keeps a turn from being ended is told.
func TestInterruptThatComesTooLate(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		status     int
		code, says string
	}{
		"ended":     {200, "", ""},
		"too late":  {409, "nothing_runs", ""},
		"conflict":  {409, "moved", "not so (moved)"},
		"forbidden": {403, "unauthorized", "not so (unauthorized)"},
		"overload":  {503, "storage_unavailable", "not so (storage_unavailable)"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := served(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost || r.URL.Path != "/channels/desk/interrupt" {
					t.Errorf("it asks %s %s", r.Method, r.URL.Path)
				}
				if body, err := io.ReadAll(r.Body); err != nil || string(body) != `{"turn_id":"turn-1"}` {
					t.Errorf("it sends %s: %v", body, err)
				}
				w.WriteHeader(row.status)
				if row.code != "" {
					_, _ = w.Write([]byte(`{"error":"not so (` + row.code + `)","code":"` + row.code + `"}`))
				}
			})
			got, ok := g.interrupt(t.Context(), "turn-1").(done)
			if !ok || (got.err != nil) != (row.says != "") || got.err != nil && !strings.Contains(got.err.Error(), row.says) {
				t.Errorf("it is told %v, want %q", got.err, row.says)
			}
		})
	}
	gone := gateway{channel: "desk", Client: client.OverSocket(t.TempDir() + "/none.sock")}
	if got, ok := gone.interrupt(t.Context(), "turn-1").(done); !ok || got.err == nil {
		t.Error("an interrupt that reached nobody is not told")
	}
}

// TestEndedWhileItArrived opens a chat while a turn runs, which ends before the channel is
// listened to: its answer is shown, once.
func TestEndedWhileItArrived(t *testing.T) {
	t.Parallel()
	running := `{"message_id":"m1","turn_id":"t1","state":"running"}`
	answered := `{"message_id":"m1","turn_id":"t1","state":"answered","text":"It is done."}`
	replies := map[string]string{
		api.PathHealth:            `{}`,
		"/channels/desk":          `{"state":"running"}`,
		"/channels/desk/messages": `{"messages":[` + running + `]}`,
		"/messages/m1":            answered,
	}
	g := served(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(replies[r.URL.Path])) })
	first, err := g.arrive(t.Context())
	check.OK(t, err)
	m := newModel(t.Context(), g, first, term.DefaultColumns)
	replies["/channels/desk"] = `{"state":"idle"}`
	printed := played(m, m.update(lost(false)))
	if !strings.Contains(printed, "It is done.") {
		t.Errorf("what ended is not shown: %q", printed)
	}
	printed += played(m, m.update(lost(false)))
	printed += played(m, m.heard(outcome("m1", "t1", core.Reply{State: core.Answered, Text: "It is done."})))
	if n := strings.Count(printed, "It is done."); n != 1 {
		t.Errorf("the answer is there %d times: %q", n, printed)
	}
}

// played carries out a command and what follows from it, and returns what is printed.
func played(m *model, cmd tea.Cmd) (rows string) {
	if cmd == nil {
		return ""
	}
	msg, several := cmd(), reflect.TypeFor[[]tea.Cmd]()
	if all := reflect.ValueOf(msg); msg != nil && all.CanConvert(several) { // at once, or one after the other
		for _, c := range all.Convert(several).Interface().([]tea.Cmd) {
			rows += played(m, c)
		}
		return rows
	}
	switch msg := msg.(type) {
	case nil:
	case printed:
		return played(m, m.printed())
	case found:
		return played(m, m.print(m.talk.found(msg)))
	default:
		return fmt.Sprint(msg) // what is printed is a type of the library's own
	}
	return rows
}
