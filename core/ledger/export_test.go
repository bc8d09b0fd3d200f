package ledger

import "log/slog"

// Stats counts the writer's work since Open.
type Stats struct {
	Commits uint64 // transactions, each with one sync
	Changes uint64 // changes in all transactions
}

// Stats returns the writer's counters.
func (l *Ledger) Stats() Stats { return Stats{l.writer.commits.Load(), l.writer.changes.Load()} }

// A Breaking is a breaking migration of a program to come.
type Breaking struct {
	Script string
	Reader int
}

// OpenAsLater is Open in a program to come, which knows further migrations.
func OpenAsLater(path string, log *slog.Logger, more []string, breaking ...Breaking) (*Ledger, error) {
	s := ours()
	s.migrations = append(s.migrations[:len(s.migrations):len(s.migrations)], more...)
	for _, b := range breaking {
		s.breaking = append(s.breaking[:len(s.breaking):len(s.breaking)], breakingMigration{b.Script, b.Reader})
	}
	return openWith(path, log, s)
}
