package chat

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"bareclaw/core"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/term"
)

// TestCommandsOfTheGateway: what the gateway itself can answer costs no turn; every other command is
// claude's.
func TestCommandsOfTheGateway(t *testing.T) {
	t.Parallel()
	g := served(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("it asks %s %s", r.Method, r.URL.Path)
		}
		_, _ = io.WriteString(w, `{"channel":"desk","model":"haiku"}`)
	})
	g.run = func(args []string, _ io.Reader, out, errs io.Writer) int {
		_, _ = fmt.Fprintln(out, "ran", strings.Join(args, " "))
		_, _ = fmt.Fprintln(errs, "and tells")
		if args[0] == "trace" {
			return exitcode.Failed
		}
		return exitcode.OK
	}
	m := newModel(t.Context(), g, arrival{}, term.DefaultColumns)
	for text, want := range map[string]string{
		"/status":     "ran channels show -- desk",
		"/new":        "ran channels reset -- desk",
		"/queue":      "ran messages --open -- desk",
		"/why":        "ran trace -- desk",
		"/why 1234":   "ran trace -- 1234",
		"/rules":      "ran channels rules -- desk",
		"/usage":      "ran channels usage -- desk",
		"/model opus": "ran channels set --model=opus -- desk",
		"/mode plan":  "ran channels set --permission-mode=plan -- desk",
		"/mode reset": "ran channels set --permission-mode= -- desk",
	} {
		do, ours := m.command(text)
		if !ours {
			t.Errorf("%s goes to claude", text)
			continue
		}
		told := asNote
		if strings.HasPrefix(want, "ran trace") { // which fails
			told = asProblem
		}
		if got := do().(ran); !slices.Equal(got.lines, []line{{asNote, want}, {told, "and tells"}}) {
			t.Errorf("%s shows %v, want %q", text, got.lines, want)
		}
	}
	for text, want := range map[string]string{"/model": "The model of this channel is haiku. ", "/mode": "The permission mode of this channel is that of the gateway"} {
		do, _ := m.command(text)
		if got := do().(ran); len(got.lines) != 1 || !strings.HasPrefix(got.lines[0].text, want) {
			t.Errorf("%s shows %v, want %q", text, got.lines, want)
		}
	}
	for _, text := range []string{"/stop", "/restart", "/verbose 2"} {
		if _, ours := m.command(text); !ours {
			t.Errorf("%s goes to claude", text)
		}
	}
	for _, text := range []string{"/clear", "/compact", "/statusline", "/etc/passwd", "hello", "/"} {
		if _, ours := m.command(text); ours {
			t.Errorf("%s does not go to claude", text)
		}
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
