package harness

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// Malformed says what an outcome lacks or has too much; empty for one that is complete,
// and for everything that is no outcome.
func Malformed(m map[string]any) string {
	state, _ := m["state"].(string)
	if _, message := m["message_id"]; !message || state != "answered" && state != "failed" && state != "cancelled" {
		return ""
	}
	if _, ended := m["ended_at"]; !ended && m["prompt"] != nil && m["text"] == nil && m["is_error"] == nil {
		return "" // only says that the message was accepted; the document of the API requires ended_at in outcomes
	}
	word := func(name string) string { s, _ := m[name].(string); return s }
	isError, told := m["is_error"].(bool)
	text, texted := m["text"].(string)
	coalesced := m["coalesced"] == true
	began, err := time.Parse(time.RFC3339Nano, word("received_at"))
	ended, err2 := time.Parse(time.RFC3339Nano, word("ended_at"))
	switch _, timed := m["duration_ms"].(float64); {
	case !told || !texted || !timed:
		return "lacks is_error, text or duration_ms"
	case isError != (state != "answered"):
		return "has the wrong is_error"
	case isError && (word("code") == "" || word("error") == ""):
		return "lacks a code or a sentence"
	case isError && !coalesced && !strings.Contains(text, word("error")):
		return "does not say in its text what is wrong"
	case !isError && (m["code"] != nil || m["error"] != nil):
		return "is an answer with a code or an error"
	case coalesced != (word("into") != ""):
		return "is coalesced into nothing"
	case err != nil || err2 != nil || ended.Before(began):
		return "ended before it was received"
	}
	return ""
}

// checkOutcomes fails for every outcome in a JSON document that is not complete.
func checkOutcomes(t testing.TB, where string, doc any) {
	switch v := doc.(type) {
	case map[string]any:
		if wrong := Malformed(v); wrong != "" {
			b, _ := json.Marshal(v)
			t.Errorf("%s: an outcome %s: %s", where, wrong, b)
		}
		for _, member := range v {
			checkOutcomes(t, where, member)
		}
	case []any:
		for _, element := range v {
			checkOutcomes(t, where, element)
		}
	}
}
