package chat

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/go-json-experiment/json"

	"bareclaw/core"
	"bareclaw/internal/term"
)

// TestCommandsOfTheGateway: what the gateway itself can answer costs no turn; every other text is
// claude's.
func TestCommandsOfTheGateway(t *testing.T) {
	t.Parallel()
	known := map[string]string{
		"/status":      `{"text":"**Now**: idle\n**Waiting**: nothing","choices":[]}`,
		"/queue":       `{"text":"1\\. Ann: a\\*b","choices":[{"label":"Drop 1","command":"/queue drop x"},{"label":"Run 1 now","command":"/queue now x"}]}`,
		"/model a b":   `{"text":"a b is not the name of a model","choices":[]}`,
		"/greet the 2": `{"text":"","choices":[],"prompt":"Say hello twice."}`,
	}
	var said []string
	g := served(t, func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Text string `json:"text"`
		}
		if err := json.UnmarshalRead(r.Body, &in); err != nil {
			t.Error(err)
		}
		switch r.Method + " " + r.URL.Path {
		case "POST /message":
			said = append(said, in.Text)
			_, _ = io.WriteString(w, `{"message_id":"m1"}`)
		case "POST /channels/desk/commands":
			if in.Text == "/rules" {
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, `{"error":"not here","code":"not_on_socket"}`)
				return
			}
			if known[in.Text] == "" {
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, `{"error":"unknown","code":"unknown_command"}`)
				return
			}
			_, _ = io.WriteString(w, known[in.Text])
		default:
			t.Errorf("it asks %s %s", r.Method, r.URL.Path)
		}
	})
	m := newModel(t.Context(), g, arrival{}, term.DefaultColumns)
	for text, want := range map[string]string{
		"/status":    "· Now: idle\n  Waiting: nothing",
		"/queue":     "· 1. Ann: a*b\n  Drop 1     /queue drop x\n  Run 1 now  /queue now x",
		"/model a b": "· a b is not the name of a model",
		"/rules":     "! not here",
	} {
		var rows []string
		for _, l := range m.entered(text)().(ran).lines {
			rows = append(rows, l.render(80, false))
		}
		if got := strings.Join(rows, "\n"); got != want {
			t.Errorf("%s shows %q, want %q", text, got, want)
		}
	}
	if len(said) != 0 {
		t.Errorf("claude gets %q", said)
	}
	for _, text := range []string{"/restart", "/verbose 2"} {
		if shows := played(m, m.entered(text)); !strings.Contains(shows, "terminal") && !strings.Contains(shows, "is for chats") {
			t.Errorf("%s shows %q", text, shows)
		}
	}
	for _, text := range []string{"/clear", "/etc/passwd", "hello", "/", "/greet the 2"} {
		m.entered(text)()
	}
	if want := []string{"/clear", "/etc/passwd", "hello", "/", "Say hello twice."}; !slices.Equal(said, want) {
		t.Errorf("claude gets %q, want %q", said, want)
	}
}

// TestSlashAnswersAQuestion: what is no command of the gateway answers an open question, as all words
// do.
func TestSlashAnswersAQuestion(t *testing.T) {
	t.Parallel()
	var asked []string
	g := served(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		if strings.HasSuffix(r.URL.Path, "/commands") {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":"unknown","code":"unknown_command"}`)
		}
	})
	m := newModel(t.Context(), g, arrival{}, term.DefaultColumns)
	m.talk.asked(core.Approval{ID: "a1", State: core.ApprovalPending, Tool: "Bash"})
	m.update(m.entered("/tmp is better")())()
	if want := []string{"/channels/desk/commands", "/approvals/a1"}; !slices.Equal(asked, want) {
		t.Errorf("it asks %q, want %q", asked, want)
	}
}

// TestCtrlCStopsAndStays: a Ctrl-C that stops a turn, and another one when the turn has just ended, do
// not leave the chat; two more do.
func TestCtrlCStopsAndStays(t *testing.T) {
	t.Parallel()
	m := writing(t)
	m.talk.fold.Take(core.Update{Kind: core.UpdateStarted, At: time.Now(), Turn: "t1", Messages: []core.MessageID{"m1"}})
	press := tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
	m.key(press)
	m.talk.fold.Take(core.Update{Kind: core.UpdateResult, At: time.Now(), Turn: "t1", Message: &core.Message{ID: "m1", Turn: "t1"}})
	left := []bool{m.printer.closed}
	for range 2 {
		m.key(press)
		left = append(left, m.printer.closed)
	}
	if want := []bool{false, false, true}; !slices.Equal(left, want) {
		t.Errorf("the chat is left: %v, want %v", left, want)
	}
}
