package harness

import (
	"bytes"
	"encoding/json"
	"os"

	"bareclaw/internal/testkit/check"
)

// Soak says that the long runs of these tests are wanted.
func Soak() bool { return os.Getenv("BARECLAW_TEST_SOAK") != "" }

// A Sent message is what its sender knows of it.
type Sent struct {
	Text string // unique on the machine
	Form string // "" (wait for the answer), "async" or "sse"
	Key  string // its Idempotency-Key, "" if it has none

	ID    string // once the sender was told that it is accepted
	Doubt bool   // the connection broke before that
	Told  Answer // the answer, if the sender waited and got one
}

// Post sends the message and records the result in s. The daemon may die meanwhile.
func (g *Gateway) Post(channel string, s *Sent) {
	header := []string{"Accept", "application/json"}
	switch s.Form {
	case "async":
		header = append(header, "Prefer", "respond-async")
	case "sse":
		header[1] = "text/event-stream"
	}
	if s.Key != "" {
		header = append(header, "Idempotency-Key", s.Key)
	}
	a, err := g.Do("POST", "/message", map[string]any{"channel": channel, "text": s.Text}, header...)
	id := a.Str("message_id")
	if s.Form == "sse" {
		id = AcceptedEvent(a.Body)
	}
	switch {
	case id != "" && s.ID != "" && id != s.ID:
		g.T.Errorf("%s: accepted as %s and as %s", s.Text, s.ID, id)
	case id != "":
		s.ID, s.Doubt = id, false
	case err == nil && (a.Status != 503 || a.Str("code") != "shutting_down"):
		g.T.Errorf("%s: status %d: %s", s.Text, a.Status, a.Body)
	case err != nil && s.ID == "":
		s.Doubt = true
	}
	if err == nil && a.Status == 200 && s.Form == "" {
		s.Told = a
	}
}

// AcceptedEvent returns the message id in the first event of a stream, which may
// have been cut anywhere after it.
func AcceptedEvent(stream []byte) string {
	_, rest, _ := bytes.Cut(stream, []byte("event: accepted\ndata: "))
	data, _, whole := bytes.Cut(rest, []byte("\n\n"))
	var m struct {
		ID string `json:"message_id"`
	}
	if !whole || json.Unmarshal(data, &m) != nil {
		return ""
	}
	return m.ID
}

// Settled waits until every message of the channel has its outcome and returns the
// outcomes by message id. Settled fails unless the channel has every accepted message
// and, besides these, only messages in doubt.
func (g *Gateway) Settled(channel string, msgs []*Sent) map[string]Answer {
	g.T.Helper()
	known, doubts := map[string]bool{}, 0
	for _, s := range msgs {
		if s.ID != "" {
			known[s.ID] = true
		}
		if s.Doubt {
			doubts++
		}
	}
	outcomes := map[string]Answer{}
	for _, id := range g.History(channel) {
		outcomes[id] = g.Outcome(id)
		delete(known, id)
	}
	for id := range known {
		g.T.Errorf("channel %s: message %s was accepted and is not there", channel, id)
	}
	if n := len(outcomes); n > len(msgs) || n < len(msgs)-doubts {
		g.T.Errorf("channel %s: %d messages are there; %d were sent, %d of them are in doubt", channel, n, len(msgs), doubts)
	}
	for _, s := range msgs {
		if a, ok := outcomes[s.ID]; ok && s.Told.Status == 200 && a.Str("text") != s.Told.Str("text") {
			g.T.Errorf("%s: the sender was told %q, now it is %q", s.Text, s.Told.Str("text"), a.Str("text"))
		}
	}
	return outcomes
}

// History returns the ids of all messages of the channel.
func (g *Gateway) History(channel string) []string {
	g.T.Helper()
	var all []string
	for before := ""; ; {
		a, err := g.Do("GET", "/channels/"+Escaped(channel)+"/messages?limit=100&before="+before, nil)
		if err != nil || a.Status != 200 && a.Status != 404 {
			g.T.Fatalf("history of %s: %v, status %d: %s", channel, err, a.Status, a.Body)
		}
		var page struct {
			Messages []struct {
				ID string `json:"message_id"`
			}
		}
		check.OK(g.T, json.Unmarshal(a.Body, &page))
		for _, m := range page.Messages {
			all, before = append(all, m.ID), m.ID
		}
		if len(page.Messages) < 100 {
			return all
		}
	}
}
