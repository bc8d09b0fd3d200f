package ledger

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"bareclaw/core"
	"bareclaw/core/schedule"
)

var _ schedule.Store = (*Ledger)(nil)

type jobDoc struct {
	Text       string  `json:"text"`
	When       string  `json:"when"`
	TZ         string  `json:"tz,omitempty"`
	Missed     string  `json:"missed"`
	Precheck   string  `json:"precheck,omitempty"`
	Budget     float64 `json:"budget,omitempty"`
	SourceKey  string  `json:"source_key,omitempty"`
	SourceHash string  `json:"source_hash,omitempty"`
	CreatedAt  int64   `json:"created_at"`
}

type occurrenceDoc struct {
	Status int    `json:"status,omitempty"`
	Late   bool   `json:"late,omitempty"`
	Why    string `json:"why,omitempty"`

	Answer *schedule.Answer `json:"answer,omitempty"`
}

// commit writes ops that belong to no core.Change and blocks until the ops are durable
// or ctx ends.
func (l *Ledger) commit(ctx context.Context, k *compiler) error {
	landed := make(chan error, 1)
	l.enqueue(entry{ops: k.ops, bytes: k.bytes, err: k.err, done: func(err error) { landed <- err }})
	select {
	case err := <-landed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// AddJob implements [schedule.Store].
func (l *Ledger) AddJob(ctx context.Context, j schedule.Job) error {
	k := &compiler{}
	doc := k.doc(jobDoc{
		Text: j.Text, When: j.When, TZ: j.TZ, Missed: j.Missed, Precheck: j.Precheck, Budget: j.Budget,
		SourceKey: j.SourceKey, SourceHash: j.SourceHash, CreatedAt: nanos(j.CreatedAt),
	})
	k.add(op{stmt: opAddJob, id: j.ID, args: []driver.Value{j.ID, string(j.Channel), nanos(j.DecidedTo), nanos(j.DoneAt), doc}}, len(doc))
	return l.commit(ctx, k)
}

// Decide implements [schedule.Store].
func (l *Ledger) Decide(ctx context.Context, d schedule.Decision, keep int) error {
	k := &compiler{}
	k.add(op{stmt: opDecideJob, id: d.Job, args: []driver.Value{d.Job, nanos(d.DecidedTo), nanos(d.DoneAt)}}, 0)
	for i := range d.Occurrences {
		o := &d.Occurrences[i]
		k.occurrence(opOccurrence, d.Job, o)
	}
	if len(d.Occurrences) > 0 {
		k.add(op{stmt: opTrimOccurrences, id: d.Job, args: []driver.Value{d.Job, int64(keep)}}, 0)
	}
	return l.commit(ctx, k)
}

// PutOccurrences implements [schedule.Store].
func (l *Ledger) PutOccurrences(ctx context.Context, job string, all []schedule.Occurrence, keep int) error {
	k := &compiler{}
	for i := range all {
		k.occurrence(opPutOccurrence, job, &all[i])
	}
	k.add(op{stmt: opTrimRuns, id: job, args: []driver.Value{job, int64(keep)}}, 0)
	return l.commit(ctx, k)
}

func (k *compiler) occurrence(stmt stmtID, job string, o *schedule.Occurrence) {
	doc := k.doc(occurrenceDoc{Status: o.Status, Late: o.Late, Why: o.Why, Answer: o.Answer})
	k.add(op{stmt: stmt, id: job, args: []driver.Value{
		job, nanos(o.Due), nanos(o.DecidedAt), string(o.Outcome), nullable(string(o.Message)), doc,
	}}, len(doc))
}

// SetBack implements [schedule.Store].
func (l *Ledger) SetBack(ctx context.Context, job string, to time.Time) error {
	k := &compiler{}
	for _, stmt := range []stmtID{opSetBackJob, opSetBackOccurrences} {
		k.add(op{stmt: stmt, id: job, args: []driver.Value{job, nanos(to)}}, 0)
	}
	return l.commit(ctx, k)
}

// RemoveJob implements [schedule.Store].
func (l *Ledger) RemoveJob(ctx context.Context, id string) error {
	if _, err := l.Job(ctx, id); err != nil {
		return err
	}
	k := &compiler{}
	for _, stmt := range []stmtID{opRemoveJob, opDropOccurrences} {
		k.add(op{stmt: stmt, id: id, args: []driver.Value{id}}, 0)
	}
	return l.commit(ctx, k)
}

// Prune implements [schedule.Store].
func (l *Ledger) Prune(ctx context.Context, occurrences, done time.Time) error {
	k := &compiler{}
	k.add(op{stmt: opPruneOccurrences, id: occurrences.String(), args: []driver.Value{nanos(occurrences)}}, 0)
	for _, stmt := range []stmtID{opPruneDone, opPruneJobs} { // opPruneDone needs the schedules that opPruneJobs deletes
		k.add(op{stmt: stmt, id: done.String(), args: []driver.Value{nanos(done)}}, 0)
	}
	return l.commit(ctx, k)
}

const jobColumns = `SELECT id, channel, decided_to, done_at, doc FROM schedules `

func scanJob(scan func(...any) error) (schedule.Job, error) {
	var j schedule.Job
	var decided, done int64
	var doc string
	if err := scan(&j.ID, &j.Channel, &decided, &done, &doc); err != nil {
		return j, err
	}
	var d jobDoc
	if err := json.Unmarshal([]byte(doc), &d); err != nil {
		return j, fmt.Errorf("schedule %s: %w", j.ID, err)
	}
	j.Text, j.When, j.TZ, j.Missed, j.Precheck, j.Budget = d.Text, d.When, d.TZ, d.Missed, d.Precheck, d.Budget
	j.SourceKey, j.SourceHash = d.SourceKey, d.SourceHash
	j.CreatedAt, j.DecidedTo, j.DoneAt = fromNanos(d.CreatedAt), fromNanos(decided), fromNanos(done)
	return j, nil
}

// Jobs implements [schedule.Store].
func (l *Ledger) Jobs(ctx context.Context) ([]schedule.Job, error) {
	return readAll(ctx, l, scanJob, "schedules", jobColumns+`ORDER BY seq`)
}

// Job implements [schedule.Store].
func (l *Ledger) Job(ctx context.Context, id string) (schedule.Job, error) {
	return readOne(ctx, l, scanJob, "schedule "+id, jobColumns+`WHERE id=?`, id)
}

// Occurrences implements [schedule.Store].
func (l *Ledger) Occurrences(ctx context.Context, job string, since time.Time, limit int) ([]schedule.Occurrence, error) {
	return readAll(ctx, l, scanOccurrence, "occurrences of schedule "+job,
		`SELECT schedule, due, decided_at, outcome, coalesce(message,''), doc FROM occurrences
		WHERE schedule=? AND due>=? ORDER BY due DESC LIMIT ?`, job, nanos(since), limit)
}

func scanOccurrence(scan func(...any) error) (schedule.Occurrence, error) {
	var o schedule.Occurrence
	var due, decided int64
	var doc string
	if err := scan(&o.Job, &due, &decided, &o.Outcome, &o.Message, &doc); err != nil {
		return o, err
	}
	var d occurrenceDoc
	if err := json.Unmarshal([]byte(doc), &d); err != nil {
		return o, fmt.Errorf("occurrence of schedule %s: %w", o.Job, err)
	}
	o.Due, o.DecidedAt = fromNanos(due), fromNanos(decided)
	o.Status, o.Late, o.Why, o.Answer = d.Status, d.Late, d.Why, d.Answer
	return o, nil
}

// SourceMessage implements [schedule.Store].
func (l *Ledger) SourceMessage(ctx context.Context, key string) (core.MessageID, error) {
	return readOne(ctx, l, func(scan func(...any) error) (id core.MessageID, err error) {
		err = scan(&id)
		return id, err
	}, "the message of a source key", `SELECT id FROM messages WHERE source_key=?`, key)
}

// SourceCost implements [schedule.Store].
func (l *Ledger) SourceCost(ctx context.Context, prefix string, since time.Time) (float64, error) {
	return readOne(ctx, l, func(scan func(...any) error) (usd float64, err error) {
		err = scan(&usd)
		return usd, err
	}, "what messages have cost", `SELECT total(json_extract(outcome, '$.cost_usd')) FROM messages
		WHERE source_key>=? AND source_key<? AND ended_at>=?`, prefix, after(prefix), nanos(since))
}
