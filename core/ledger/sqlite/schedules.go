package sqlite

import (
	"context"
	"fmt"
	"time"

	"bareclaw/core"
	"bareclaw/core/schedule"
)

var _ schedule.Store = (*Ledger)(nil)

var (
	stmtAddJob             = newStatement("add schedule", `INSERT INTO schedules(id, channel, decided_to, done_at, doc) VALUES(?,?,?,?,?)`)
	stmtDecideJob          = newStatement("decide about schedule", `UPDATE schedules SET decided_to=?2, done_at=max(done_at,?3) WHERE id=?1`)
	stmtSetBackJob         = newStatement("set back schedule", `UPDATE schedules SET decided_to=?2, done_at=0 WHERE id=?1`)
	stmtSetBackOccurrences = newStatement("forget what was missed too early by", `DELETE FROM occurrences WHERE schedule=?1 AND due>?2 AND outcome='missed'`)
	stmtReplaceJob         = newStatement("change schedule", `UPDATE schedules SET decided_to=?2, doc=?3 WHERE id=?1`)
	stmtRemoveJob          = newStatement("remove schedule", `DELETE FROM schedules WHERE id=?`)
	stmtDropOccurrences    = newStatement("remove the occurrences of", `DELETE FROM occurrences WHERE schedule=?`)
	stmtOccurrence         = newStatement("record an occurrence of", `INSERT INTO occurrences(schedule, due, decided_at, outcome, message, doc)
		SELECT ?1,?2,?3,?4,?5,?6 WHERE EXISTS (SELECT 1 FROM schedules WHERE id=?1) ON CONFLICT(schedule, due) DO NOTHING`)
	stmtPutOccurrence = newStatement("record a run of", `INSERT INTO occurrences(schedule, due, decided_at, outcome, message, doc) VALUES(?,?,?,?,?,?)
		ON CONFLICT(schedule, due) DO UPDATE SET decided_at=excluded.decided_at, outcome=excluded.outcome, message=excluded.message, doc=excluded.doc`)
	stmtTrimRuns = newStatement("forget runs of",
		`DELETE FROM occurrences WHERE schedule=?1 AND due NOT IN (SELECT due FROM occurrences WHERE schedule=?1 ORDER BY due DESC LIMIT ?2)`)
	// stmtTrimOccurrences keeps the occurrences nearest to decided_to. Occurrences after
	// decided_to, which a fast clock recorded too early, go first, the farthest ones
	// before the nearer.
	stmtTrimOccurrences = newStatement("forget occurrences of", `DELETE FROM occurrences WHERE schedule=?1 AND due IN (SELECT o.due FROM occurrences o, schedules s
		WHERE s.id=?1 AND o.schedule=?1 ORDER BY o.due>s.decided_to, abs(o.due-s.decided_to) LIMIT -1 OFFSET ?2)`)
	stmtPruneOccurrences = newStatement("forget occurrences before", `DELETE FROM occurrences WHERE decided_at<?`)
	stmtPruneDone        = newStatement("forget the occurrences of schedules done before",
		`DELETE FROM occurrences WHERE schedule IN (SELECT id FROM schedules WHERE done_at>0 AND done_at<?)`)
	stmtPruneJobs = newStatement("forget schedules done before", `DELETE FROM schedules WHERE done_at>0 AND done_at<?`)
)

// A jobDoc is a job without the columns, and with the time of creation in nanoseconds.
type jobDoc struct {
	schedule.Job
	CreatedNanos int64 `json:"created_at"`
}

// schedules implements [schedule.Store].
type schedules struct {
	reader *reader
	queue  *queue
}

// AddJob implements [schedule.Store].
func (l schedules) AddJob(ctx context.Context, j schedule.Job) error {
	k := &compiler{}
	k.add(stmtAddJob, j.ID, j.ID, string(j.Channel), nanos(j.DecidedTo), nanos(j.DoneAt), documentOf(k, j))
	return l.queue.commit(ctx, k)
}

// ReplaceJob implements [schedule.Store].
func (l schedules) ReplaceJob(ctx context.Context, j schedule.Job) error {
	k := &compiler{}
	k.add(stmtReplaceJob, j.ID, j.ID, nanos(j.DecidedTo), documentOf(k, j))
	return l.queue.commit(ctx, k)
}

// documentOf returns the part of a job that is no column.
func documentOf(k *compiler, j schedule.Job) string {
	doc := jobDoc{j, nanos(j.CreatedAt)}
	doc.ID = ""
	doc.Channel = ""
	doc.CreatedAt = time.Time{}
	doc.DecidedTo = time.Time{}
	doc.DoneAt = time.Time{}
	return k.doc(doc)
}

// Decide implements [schedule.Store].
func (l schedules) Decide(ctx context.Context, d schedule.Decision, keep int) error {
	k := &compiler{}
	k.add(stmtDecideJob, d.Job, d.Job, nanos(d.DecidedTo), nanos(d.DoneAt))
	for i := range d.Occurrences {
		putOccurrence(k, stmtOccurrence, d.Job, &d.Occurrences[i])
	}
	if len(d.Occurrences) > 0 {
		k.add(stmtTrimOccurrences, d.Job, d.Job, int64(keep))
	}
	return l.queue.commit(ctx, k)
}

// PutOccurrences implements [schedule.Store].
func (l schedules) PutOccurrences(ctx context.Context, job string, all []schedule.Occurrence, keep int) error {
	k := &compiler{}
	for i := range all {
		putOccurrence(k, stmtPutOccurrence, job, &all[i])
	}
	k.add(stmtTrimRuns, job, job, int64(keep))
	return l.queue.commit(ctx, k)
}

func putOccurrence(k *compiler, s *statement, job string, o *schedule.Occurrence) {
	doc := k.doc(schedule.Occurrence{
		Status: o.Status,
		Late:   o.Late,
		ByHand: o.ByHand,
		Why:    o.Why,
		Answer: o.Answer,
	})
	k.add(s, job, job, nanos(o.Due), nanos(o.DecidedAt), string(o.Outcome), nullable(string(o.Message)), doc)
}

// SetBack implements [schedule.Store].
func (l schedules) SetBack(ctx context.Context, job string, to time.Time) error {
	k := &compiler{}
	k.add(stmtSetBackJob, job, job, nanos(to))
	k.add(stmtSetBackOccurrences, job, job, nanos(to))
	return l.queue.commit(ctx, k)
}

// RemoveJob implements [schedule.Store].
func (l schedules) RemoveJob(ctx context.Context, id string) error {
	if _, err := l.Job(ctx, id); err != nil {
		return err
	}
	k := &compiler{}
	k.add(stmtRemoveJob, id, id)
	k.add(stmtDropOccurrences, id, id)
	return l.queue.commit(ctx, k)
}

// Prune implements [schedule.Store].
func (l schedules) Prune(ctx context.Context, occurrences, done time.Time) error {
	k := &compiler{}
	k.add(stmtPruneOccurrences, occurrences.String(), nanos(occurrences))
	k.add(stmtPruneDone, done.String(), nanos(done)) // before the schedules, by which stmtPruneDone finds the occurrences
	k.add(stmtPruneJobs, done.String(), nanos(done))
	return l.queue.commit(ctx, k)
}

const jobColumns = `SELECT id, channel, decided_to, done_at, doc FROM schedules `

func scanJob(scan scanFunc) (schedule.Job, error) {
	var d jobDoc
	if err := scan(&d.ID, &d.Channel, at(&d.DecidedTo), at(&d.DoneAt), storedDoc{&d}); err != nil {
		return d.Job, fmt.Errorf("schedule %s: %w", d.ID, err)
	}
	d.CreatedAt = fromNanos(d.CreatedNanos)
	return d.Job, nil
}

// Jobs implements [schedule.Store].
func (l schedules) Jobs(ctx context.Context) ([]schedule.Job, error) {
	return readAll(ctx, l.reader, "schedules", scanJob, jobColumns+`ORDER BY seq`)
}

// Job implements [schedule.Store].
func (l schedules) Job(ctx context.Context, id string) (schedule.Job, error) {
	return readOne(ctx, l.reader, "schedule "+id, scanJob, jobColumns+`WHERE id=?`, id)
}

// Occurrences implements [schedule.Store].
func (l schedules) Occurrences(ctx context.Context, job string, since time.Time, limit int) ([]schedule.Occurrence, error) {
	return readAll(ctx, l.reader, "occurrences of schedule "+job, scanOccurrence,
		`SELECT schedule, due, decided_at, outcome, coalesce(message,''), doc FROM occurrences
		WHERE schedule=? AND due>=? ORDER BY due DESC LIMIT ?`, job, nanos(since), limit)
}

func scanOccurrence(scan scanFunc) (o schedule.Occurrence, err error) {
	err = scan(&o.Job, at(&o.Due), at(&o.DecidedAt), &o.Outcome, &o.Message, storedDoc{&o})
	return o, err
}

// SourceMessage implements [schedule.Store].
func (l schedules) SourceMessage(ctx context.Context, key string) (core.MessageID, error) {
	return readOne(ctx, l.reader, "the message of a source key", column[core.MessageID], `SELECT id FROM messages WHERE source_key=?`, key)
}

// SourceCost implements [schedule.Store].
func (l schedules) SourceCost(ctx context.Context, prefix string, since time.Time) (float64, error) {
	return readOne(ctx, l.reader, "the cost of messages", column[float64], `SELECT total(json_extract(outcome, '$.cost_usd')) FROM messages
		WHERE source_key>=? AND source_key<? AND ended_at>=?`, prefix, after(prefix), nanos(since))
}
