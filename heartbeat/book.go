package heartbeat

import (
	"bareclaw/internal/atomicfile"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	bookName = "heartbeat.json"
	// keptTicks is how many ticks are kept on record.
	keptTicks = 50
)

// An Outcome says what became of a tick.
type Outcome string

// The outcomes. All but Asked are final.
const (
	Asked    Outcome = "asked"          // the agent's answer is still to come
	OK       Outcome = "ok"             // nothing needs attention
	Told     Outcome = "told"           // the agent had something to say, and the user was told
	Said     Outcome = "said"           // it had, and the user was not told: see Problem
	Nothing  Outcome = "nothing to do"  // by the precheck
	Busy     Outcome = "busy"           // the message of an earlier tick has no outcome yet
	Parked   Outcome = "parked"         // no login, or a limit
	Failed   Outcome = "failed"         // the message has failed, or could not be sent
	Serves   Outcome = "gateway serves" // the agent is not to be asked: see [Asks]
	Stopped  Outcome = "stopped"        // by a person: the gateway was left as it is
	NotThere Outcome = "unreachable"    // the gateway could not be started, or does not answer
)

// A Tick is the record of one.
type Tick struct {
	Slot    time.Time `json:"slot"`
	At      time.Time `json:"at"`
	EndedAt time.Time `json:"ended_at,omitzero"`
	Outcome Outcome   `json:"outcome"`
	Detail  string    `json:"detail,omitempty"`    // what the agent said, or why there is nothing
	Started bool      `json:"started,omitempty"`   // it has started the gateway
	Asked   string    `json:"asked,omitempty"`     // what the agent was asked
	Message string    `json:"message_id,omitzero"` // as which
	CostUSD float64   `json:"cost_usd,omitzero"`
	TookMS  int64     `json:"took_ms,omitzero"` // the turn

	Push    string `json:"push,omitempty"`    // what the user is told
	To      string `json:"to,omitempty"`      // on which channel
	Owed    bool   `json:"owed,omitempty"`    // the user is still to be told
	Tries   int    `json:"tries,omitzero"`    // that failed
	Pushed  bool   `json:"pushed,omitempty"`  // it was taken
	Problem string `json:"problem,omitempty"` // why it was not
}

// A Pushing is an attempt to tell the user what ticks have for them. As long as it is not
// known what became of it, it is repeated as it is.
type Pushing struct {
	Key   string      `json:"key"`
	To    string      `json:"to"`
	Text  string      `json:"text"`
	Slots []time.Time `json:"slots"` // of the ticks that it is about
}

// A Trouble is why ticks fail.
type Trouble struct {
	Code     string    `json:"code"`
	Why      string    `json:"why"`
	Since    time.Time `json:"since"`
	Until    time.Time `json:"until,omitzero"`    // when it ends, if that is known
	Answered int64     `json:"answered,omitzero"` // messages that the gateway had answered by then
	Skipped  int       `json:"skipped,omitzero"`  // ticks since the last attempt
}

// Records are what ticks leave for the next ones and for people.
type Records struct {
	Open    *Tick    `json:"open,omitempty"`    // whose answer is still to come
	Pushing *Pushing `json:"pushing,omitempty"` // the push that is under way
	Trouble *Trouble `json:"trouble,omitempty"` // since the last tick that went well
	Ticks   []Tick   `json:"ticks"`             // those that are over, the newest last
}

// asked reports whether the agent was asked in a slot.
func (r *Records) asked(slot time.Time) bool {
	for i := range r.Ticks {
		if r.Ticks[i].Slot.Equal(slot) && r.Ticks[i].Message != "" {
			return true
		}
	}
	return false
}

// Owed returns the ticks that have something for the user which they were not told yet.
// They are those of the records, not copies.
func (r *Records) Owed() (owed []*Tick) {
	for i := range r.Ticks {
		if r.Ticks[i].Owed {
			owed = append(owed, &r.Ticks[i])
		}
	}
	return owed
}

// A book keeps records in a file. Whoever has the lock of the ticks writes it.
type book struct {
	Records
	path string
}

// Read returns the records of a state directory; none if there was no tick.
func Read(stateDir string) (Records, error) {
	b, err := openBook(stateDir)
	if err != nil {
		return Records{}, err
	}
	return b.Records, nil
}

func openBook(stateDir string) (*book, error) {
	b := &book{path: filepath.Join(stateDir, bookName)}
	text, err := os.ReadFile(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &b.Records)
	}
	if err != nil {
		return nil, fmt.Errorf("read the records of the heartbeat (%s): %w", b.path, err)
	}
	return b, nil
}

// save writes the records; a reader finds the old ones or the new ones.
func (b *book) save() error {
	if err := atomicfile.WriteJSON(b.path, b.Records); err != nil {
		return fmt.Errorf("write the records of the heartbeat: %w", err)
	}
	return nil
}

// add keeps a tick that is over.
func (b *book) add(t Tick) error {
	t.EndedAt = time.Now().UTC()
	b.Ticks = append(b.Ticks, t)
	b.Ticks = b.Ticks[max(0, len(b.Ticks)-keptTicks):]
	return b.save()
}

// closeOpen keeps the open tick as one that is over.
func (b *book) closeOpen() error {
	t := *b.Open
	b.Open = nil
	return b.add(t)
}
