package lanes

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"bareclaw/core"
	"bareclaw/core/adapterstore"
	"bareclaw/core/settings"
	"bareclaw/internal/wait"
)

// firstSaveRetry is the first pause between attempts to write an outcome. saveRetry bounds the
// later pauses: an outcome is on record within a second after the storage works again. The
// attempts of all lanes are one failing write of the ledger.
const (
	firstSaveRetry = 50 * time.Millisecond
	saveRetry      = 800 * time.Millisecond
)

// storageBackoff returns the pauses between attempts to use a storage that fails.
func storageBackoff() wait.Backoff { return wait.Backoff{First: firstSaveRetry, Most: saveRetry} }

// A deliveringLedger adds the deliveries of approvals and background results to each change.
// Once a change is durable, a deliveringLedger hands over the deliveries and applies the
// settings, in the ledger's order.
type deliveringLedger struct {
	core.Ledger

	adapters *adapterstore.Store
	settings *settings.Cache
}

// Write implements [core.Writer].
func (l *deliveringLedger) Write(c core.Change, done func(error)) {
	if len(c.Approvals)+len(c.Background) > 0 {
		c.Deliver = slices.Concat(c.Deliver, l.adapters.ForChange(&c))
	}
	if len(c.Deliver)+len(c.Settings)+len(c.Forget) == 0 {
		l.Ledger.Write(c, done)
		return
	}
	c.Lazy = false                                                 // an adapter waits for each delivery
	deliver, changed, forgotten := c.Deliver, c.Settings, c.Forget // a closure with c would have each change allocated
	l.Ledger.Write(c, func(err error) {
		if err == nil {
			for i := range changed {
				l.settings.Apply(&changed[i])
			}
			l.settings.Forget(forgotten...)
			l.adapters.HandOver(deliver)
		}
		done(err)
	})
}

// A journal writes changes in order, and repeats failed writes until the storage succeeds.
// The methods, and the functions given to the methods, run on the lane's goroutine.
type journal struct {
	ledger core.Writer
	post   func(func()) bool
	log    *slog.Logger

	writing int          // changes not yet written by the ledger
	saved   int          // changes passed to save
	unsaved []unsaved    // changes refused by the storage, and all later changes
	pauses  wait.Backoff // between writes of unsaved changes
	err     error        // the storage's last error
}

func newJournal(ledger core.Writer, post func(func()) bool, log *slog.Logger) journal {
	return journal{
		ledger: ledger,
		post:   post,
		log:    log,
		pauses: storageBackoff(),
	}
}

type unsaved struct {
	change core.Change
	then   func()
	missed func(error) // may be nil
	nth    int         // sequence number among the saved changes
}

// save writes a change, retrying until the storage succeeds, and then runs then. A change
// refused by the storage stays ahead of later changes. missed runs at each failed write, and
// may be nil.
func (j *journal) save(c core.Change, then func(), missed func(error)) {
	j.writing++
	j.saved++
	u := unsaved{c, func() { j.writing--; j.pauses.Reset(); then() }, missed, j.saved}
	if len(j.unsaved) > 0 {
		j.unsaved = append(j.unsaved, u)
		u.miss(j.err)
		return
	}
	j.write(u)
}

// try writes a change once, and passes the error to done.
func (j *journal) try(c core.Change, done func(error)) {
	j.ledger.Write(c, func(err error) {
		j.post(func() { done(err) })
	})
}

func (j *journal) isIdle() bool { return j.writing == 0 }

func (u *unsaved) miss(err error) {
	if u.missed != nil {
		u.missed(err)
	}
}

func (j *journal) write(u unsaved) {
	j.ledger.Write(u.change, func(err error) {
		switch {
		case errors.Is(err, core.ErrStorage), errors.Is(err, core.ErrStorageFull):
			j.post(func() { j.notSaved(u, err) })
			return
		case errors.Is(err, core.ErrClosed):
			return
		case err != nil: // the change contradicts the record, so a retry cannot help
			j.log.Error("change refused by the ledger", "err", err)
		}
		j.post(u.then)
	})
}

func (j *journal) notSaved(u unsaved, err error) {
	j.unsaved, j.err = append(j.unsaved, u), err
	u.miss(err)
	if len(j.unsaved) > 1 {
		return // the retry is already scheduled
	}
	pause := j.pauses.Next()
	if j.pauses.Failures() == 1 {
		j.log.Error("change not written yet, it is tried again until it is", "err", err)
	}
	time.AfterFunc(pause, func() { j.post(j.saveAgain) })
}

func (j *journal) saveAgain() {
	all := j.unsaved
	j.unsaved = nil
	slices.SortFunc(all, func(a, b unsaved) int { return a.nth - b.nth })
	for _, u := range all {
		j.write(u)
	}
}
