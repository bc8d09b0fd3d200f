package sqlite

import "log/slog"

// Stats counts the writer's work since Open.
type Stats struct {
	Commits uint64 // transactions, each with one sync
	Changes uint64 // changes in all transactions
}

// Stats returns the writer's counters.
func (l *Ledger) Stats() Stats { return Stats{l.writer.commits.Load(), l.writer.changes.Load()} }

// OpenAsLater is Open in a program to come, which knows further migrations.
func OpenAsLater(path string, log *slog.Logger, more ...string) (*Ledger, error) {
	return openWith(path, log, append(migrations[:len(migrations):len(migrations)], more...))
}
