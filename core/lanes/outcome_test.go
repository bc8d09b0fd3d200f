package lanes

import (
	"reflect"
	"testing"
	"testing/synctest"

	"bareclaw/core"
)

// TestOutcomeCarriesItsFields: what the agent says in a result is in the outcome, or this test says
// why not.
func TestOutcomeCarriesItsFields(t *testing.T) {
	carried := map[string]string{"Text": "Text", "Code": "Code", "Error": "Error", "SessionID": "SessionID", "TotalCost": "CostUSD", "IsError": "State"}
	notCarried := map[string]string{
		"Turns":       "names whose outcome it is",
		"Background":  "is of no message",
		"WokenBy":     "is of no message",
		"Interrupted": "decides about the state",
		"Cost":        "is counted in the session's total",
		"NumTurns":    "is for the turn's record",
		"Refused":     "decides about the remedy",
		"Until":       "decides about a park",
	}
	for i := range reflect.TypeFor[core.Result]().NumField() {
		name := reflect.TypeFor[core.Result]().Field(i).Name
		if (carried[name] != "") == (notCarried[name] != "") {
			t.Errorf("what becomes of %s of a result?", name)
		}
	}
	play(t, Options{}, func(_ *testing.T, w *world) {
		s := &scene{world: w, sent: map[string]*sending{}}
		s.send("one", step{})
		h, ids := s.turns("one")
		h.begin(ids[0])
		h.results(core.Result{Turns: ids, IsError: true, Text: "text", Code: "code", Error: "error", SessionID: h.launch.SessionID, TotalCost: 1})
		h.done(ids...)
		synctest.Wait()
		reply := reflect.ValueOf(s.message("one").Reply)
		for from, to := range carried {
			if reply.FieldByName(to).IsZero() {
				t.Errorf("%s of a result is not in the outcome: %+v", from, reply)
			}
		}
	})
}
