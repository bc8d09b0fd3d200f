package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bareclaw/core/ledger/sqlite"
	"bareclaw/internal/humanize"
)

const (
	// ledgerBound suffices to check some 20 GB.
	ledgerBound = time.Minute
	// largeLog is far above the log size of a working gateway.
	largeLog = 256 << 20

	restoreLedger = "`bareclaw restore FILE`, from a backup; or save what can be read: `sqlite3 ledger.db .recover | sqlite3 new.db`"
)

func checkLedger(ctx context.Context, r *report) {
	if r.cfg.StateDir() == "" {
		return
	}
	path := filepath.Join(r.cfg.StateDir(), "ledger.db")
	e, err := sqlite.Examine(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.ok("There is no ledger yet.")
	case errors.Is(err, sqlite.ErrForeign):
		r.problem("ledger_foreign", path+" is the database of another program.", "The gateway does not start.", "move it away")
	case err != nil:
		r.problem("ledger_unreadable", err.Error()+".", "The gateway does not start, or refuses messages.", "ls -l "+quote(path)+"*")
	default:
		judgeLedger(r, path, e)
	}
}

func judgeLedger(r *report, path string, e sqlite.Examination) {
	if len(e.Damage) > 0 {
		r.problem("ledger_damaged", path+" is damaged: "+strings.Join(e.Damage, "; ")+".",
			"What is in the damaged part is lost, and the gateway may refuse messages.", restoreLedger)
	}
	known := sqlite.Program()
	switch err := e.Readable(); {
	case errors.Is(err, sqlite.ErrNewer):
		r.problem("ledger_newer",
			fmt.Sprintf("The ledger has schema %d, for programs that know schema %d or a later one, and this one knows %d.", e.Schema, e.MinReader, known.Schema),
			"This program does not start with it.", "use the newer bareclaw that wrote it")
	case errors.Is(err, sqlite.ErrOlder):
		r.problem("ledger_older",
			fmt.Sprintf("The ledger has schema %d, from before the first release, and this program reads schema %d and later.", e.Schema, known.MinReader),
			"This program does not start with it.",
			"move "+quote(path)+" away together with its -wal and -shm files (bareclaw starts with an empty ledger), or use the older bareclaw that wrote it")
	}
	if e.Mode&0o077 != 0 {
		r.problem("ledger_open", fmt.Sprintf("%s is open to others (mode %04o).", path, e.Mode), "It holds every message.", "chmod 600 "+quote(path)).
			by(func(context.Context) error { return closeLedger(path) })
	}
	if b := e.Balance; b != nil && !b.Even() {
		r.problem("ledger_uneven", fmt.Sprintf("The ledger does not balance: %d accepted, %d answered, %d failed, %d cancelled, %d open.",
			b.Accepted, b.Answered, b.Failed, b.Cancelled, b.Waiting), "Some message has no outcome, or two.", "keep a copy of "+quote(path)+" and report it")
	}
	if e.LogSize > largeLog {
		r.warning("ledger_log_large", fmt.Sprintf("The ledger's log has grown to %s.", humanize.Bytes(uint64(e.LogSize))),
			"It is copied into the ledger when nobody waits: something keeps it from that, such as a program that reads the ledger.", "bareclaw restart")
	}
	if !e.Checked && len(e.Damage) == 0 {
		r.note("ledger_unchecked", fmt.Sprintf("The ledger (%s) was not searched for damage within %v.", humanize.Bytes(uint64(e.Size)), ledgerBound),
			"Whether it is whole is not known.", "sqlite3 "+quote(path)+" 'PRAGMA quick_check'")
	}
	switch b := e.Balance; {
	case len(r.found) > 0:
	case b == nil:
		r.ok("The ledger is whole, and empty.")
	default:
		r.ok("The ledger is whole and balances: %s accepted, %d open; %s.",
			humanize.Count(int(b.Accepted), "message"), b.Waiting, humanize.Bytes(uint64(e.Size+e.LogSize)))
	}
}

func closeLedger(path string) error {
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Chmod(file, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
