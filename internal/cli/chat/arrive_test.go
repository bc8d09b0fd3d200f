package chat

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core"

	"bareclaw/internal/term"
)

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
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := w.Write([]byte(replies[r.URL.Path])); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{o: Options{Channel: "desk", Client: client.OverTCP(address.Host, "")}}
	first, err := g.arrive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(t.Context(), g, first, term.DefaultColumns)
	replies["/channels/desk"] = `{"state":"idle"}`
	printed := played(m, m.back())
	if !strings.Contains(printed, "It is done.") {
		t.Errorf("what ended is not shown: %q", printed)
	}
	printed += played(m, m.back())
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
