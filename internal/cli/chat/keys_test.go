package chat

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/go-json-experiment/json"

	"bareclaw/core"
	"bareclaw/internal/term"
)

// TestTypingWhenAsked: what is being typed when a question appears does not answer it. With
// Enter, or a moment later, the same key does.
func TestTypingWhenAsked(t *testing.T) {
	t.Parallel()
	m := writing(t)
	m.talk.asked(core.Approval{ID: "a1", State: core.ApprovalPending, Tool: "Bash", Input: []byte(`{"command":"ls"}`)})
	key := tea.KeyPressMsg{Code: 'a', Text: "a"}
	m.key(key)
	if got := m.input.Value(); got != "a" {
		t.Errorf("the prompt has %q: it was an answer at once", got)
	}
	m.enter()
	if got := m.input.Value(); got != "" || len(m.talk.asks) != 1 {
		t.Errorf("the prompt has %q after Enter", got)
	}
	m.talk.askedAt = time.Now().Add(-2 * startle)
	m.key(key)
	if got := m.input.Value(); got != "" {
		t.Errorf("the prompt has %q: it is not an answer any more", got)
	}
	for text, want := range map[string]bool{"y": true, "yes": false, "c": false} {
		if _, ok := m.talk.asks[0].key(text); ok != want {
			t.Errorf("%q answers it: %v", text, ok)
		}
	}
}

// writing returns a model whose prompt takes keys.
func writing(t *testing.T) *model {
	t.Helper()
	m := newModel(t.Context(), &gateway{channel: "desk"}, arrival{}, term.DefaultColumns)
	m.input.Focus()
	return m
}

func (m *model) write(text string) {
	for _, r := range text {
		key := tea.KeyPressMsg{Code: r, Text: string(r)}
		if r == '\n' {
			key = tea.KeyPressMsg{Code: tea.KeyEnter, Mod: tea.ModAlt}
		}
		m.Update(key)
	}
}

// TestManyLines writes and pastes more lines than the prompt is tall: all of them are
// there, or none and that is said.
func TestManyLines(t *testing.T) {
	t.Parallel()
	m := writing(t)
	written := strings.Repeat("one\n", 3*promptLines) + "end"
	m.write(written)
	if got := m.input.Value(); got != written {
		t.Errorf("the prompt has %q", got)
	}
	m.Update(tea.PasteMsg{Content: "\r\nfrom\rother\nsystems"})
	if got, want := m.input.Value(), written+"\nfrom\nother\nsystems"; got != want {
		t.Errorf("the prompt has %q", got)
	}
	whole := strings.Repeat("line\n", writtenLines-100)
	m.input.Reset()
	m.paste(tea.PasteMsg{Content: whole}) // it takes long to draw
	told := played(m, m.paste(tea.PasteMsg{Content: whole}))
	if got := m.input.Value(); got != whole || !strings.Contains(told, "Not pasted") || !strings.Contains(told, "bareclaw send desk -") {
		t.Errorf("of %d bytes, twice, the prompt has %d; %s", len(whole), len(got), told)
	}
}

// TestDraft looks for something written before, and comes back to what was begun.
func TestDraft(t *testing.T) {
	t.Parallel()
	m := writing(t)
	m.past, m.at = []string{"one", "two"}, 2
	m.write("begun")
	var got []string
	for _, key := range []rune{tea.KeyUp, tea.KeyUp, tea.KeyUp, tea.KeyDown, tea.KeyDown, tea.KeyDown} {
		m.Update(tea.KeyPressMsg{Code: key})
		got = append(got, m.input.Value())
	}
	if want := []string{"two", "one", "one", "two", "begun", "begun"}; !slices.Equal(got, want) {
		t.Errorf("the prompt has %q, want %q", got, want)
	}
}

// TestSaidInOrder writes two texts while the gateway takes its time with the first: they
// are its messages in the order in which they were written.
func TestSaidInOrder(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	asked, first := make(chan struct{}, 2), make(chan struct{})
	g := served(t, func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Text string `json:"text"`
		}
		if err := json.UnmarshalRead(r.Body, &in); err != nil {
			t.Error(err)
		}
		asked <- struct{}{}
		if in.Text == "first" {
			<-first
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, in.Text)
		_, _ = w.Write([]byte(`{"message_id":"m-` + in.Text + `"}`))
	})
	m := writing(t)
	m.gateway = g
	both := []tea.Cmd{m.speak("first"), m.speak("second")}
	var sent sync.WaitGroup
	for _, cmd := range slices.Backward(both) { // either may be carried out first
		sent.Go(func() { cmd() })
	}
	<-asked
	close(first)
	sent.Wait()
	if want := []string{"first", "second"}; !slices.Equal(got, want) {
		t.Errorf("the gateway got %q", got)
	}
}
