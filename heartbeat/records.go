package heartbeat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"bareclaw/adapters/httpapi/api"
)

const (
	recordsName = "heartbeat.json"
	// keptTicks is how many ticks are kept on record.
	keptTicks = 50
)

// An Outcome says what became of a tick.
type Outcome string

// The outcomes. All but Asked are final.
const (
	Asked    Outcome = "asked"          // the answer is still to come; the gateway pushes it
	OK       Outcome = "ok"             // nothing needs attention
	Told     Outcome = "told"           // the agent had something to say, and the user was told
	Said     Outcome = "said"           // the user was not told: see Problem
	Nothing  Outcome = "nothing to do"  // by the precheck
	Busy     Outcome = "busy"           // the message of an earlier tick has no outcome yet
	Parked   Outcome = "parked"         // the message waits for a login, or for the end of a limit
	Failed   Outcome = "failed"         // the message has failed, or could not be sent
	Serves   Outcome = "gateway serves" // the agent is not to be asked: see [Asks]
	Stopped  Outcome = "stopped"        // by a person: the gateway was left as it is
	NotThere Outcome = "unreachable"    // the gateway could not be started, or does not answer
)

// A Tick is the report of one tick.
type Tick struct {
	Slot    time.Time `json:"slot"`
	At      time.Time `json:"at"`
	EndedAt time.Time `json:"ended_at,omitzero"`
	Outcome Outcome   `json:"outcome"`
	Detail  string    `json:"detail,omitempty"`  // what the agent said, or why there is nothing
	Started bool      `json:"started,omitempty"` // the tick has started the gateway
	Message string    `json:"message_id,omitzero"`
	CostUSD float64   `json:"cost_usd,omitzero"`
	TookMS  int64     `json:"took_ms,omitzero"` // the turn

	To      string `json:"to,omitempty"`      // the channel that is told
	Owed    bool   `json:"owed,omitempty"`    // the user is still to be told
	Pushed  bool   `json:"pushed,omitempty"`  // the user was told
	Problem string `json:"problem,omitempty"` // why the user was not told
	Push    string `json:"push,omitempty"`    // what an older version still has to tell
}

// Records are the reports of the last ticks.
type Records struct {
	Open  *Tick  `json:"open,omitempty"` // of an older version: the tick that has no answer yet
	Ticks []Tick `json:"ticks"`          // the newest last

	path string
}

// Owed returns the ticks of which the user was not told yet.
func (r *Records) Owed() (owed []Tick) {
	for i := range r.Ticks {
		if r.Ticks[i].Owed {
			owed = append(owed, r.Ticks[i])
		}
	}
	return owed
}

// Read returns the records of a state directory; none if there was no tick.
func Read(stateDir string) (Records, error) {
	r := Records{path: filepath.Join(stateDir, recordsName)}
	text, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return Records{path: r.path}, fmt.Errorf("read the records of the heartbeat (%s): %w", r.path, err)
	}
	return r, nil
}

// save writes the records; a reader finds the old ones or the new ones.
func (r *Records) save() error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = renameio.WriteFile(r.path, append(text, '\n'), 0o600, renameio.WithStaticPermissions(0o600), renameio.WithTempDir(filepath.Dir(r.path)))
	}
	if err != nil {
		return fmt.Errorf("write the records of the heartbeat: %w", err)
	}
	return nil
}

// add appends the report of a tick.
func (r *Records) add(t Tick) error {
	t.EndedAt = time.Now().UTC()
	r.Ticks = append(r.Ticks, t)
	r.Ticks = r.Ticks[max(0, len(r.Ticks)-keptTicks):]
	return r.save()
}

// update brings the reports of earlier ticks up to date with what the gateway knows of
// their runs: an answer may have come, and the user may have been told, since. It returns
// how many ticks the user was told of late.
func (r *Records) update(runs []api.Occurrence) (told int) {
	bySlot := map[int64]*api.Occurrence{}
	for i := range runs {
		bySlot[runs[i].Due.Unix()] = &runs[i]
	}
	for i := range r.Ticks {
		t := &r.Ticks[i]
		o := bySlot[t.Slot.Unix()]
		if o == nil || t.Message != "" && t.Message != o.MessageID || t.Outcome != Asked && t.Outcome != Parked && !t.Owed {
			continue
		}
		owed := t.Owed
		t.fill(o)
		if owed && t.Pushed {
			told++
		}
	}
	return told
}
