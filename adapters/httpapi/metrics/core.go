package metrics

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"bareclaw/core/lanes"
	"bareclaw/core/schedule"
)

// readTimeout bounds the wait of a scrape for the ledger.
const readTimeout = 5 * time.Second

// WriteTotals adds the counts of core. If the ledger cannot be read, its counts are left out.
func WriteTotals(ctx context.Context, w *Writer, m *lanes.Manager, log *slog.Logger) {
	writeStats(w, m.Directory.Stats())
	today := m.Directory.Spending()
	w.Gauge("bareclaw_lanes", "Channels served by this process.", float64(m.Directory.Lanes()))
	w.Gauge("bareclaw_spent_usd_today", "Cost of turns and background results today, in local time.", today.Spent)
	w.Gauge("bareclaw_daily_budget_usd", "Limit of the cost of a day; 0 without a limit.", today.Limit)
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if o, err := m.Directory.Overview(ctx); err == nil { // an error means that core shuts down
		running, waiting := 0, 0
		for i := range o.Active {
			waiting += o.Active[i].Waiting
			if o.Active[i].Turn != "" {
				running++
			}
		}
		w.Gauge("bareclaw_turns_running", "Turns in progress.", float64(running))
		w.Gauge("bareclaw_queue_messages", "Messages that wait for their turn.", float64(waiting))
		w.Gauge("bareclaw_sessions", "Agent sessions that are alive.", float64(o.Hosts))
		states := o.States()
		for _, state := range slices.Sorted(maps.Keys(states)) {
			w.Gauge("bareclaw_channels", "Channels with a conversation or something to do, by state.", float64(states[state]), "state", state)
		}
	}
	b, err := m.Lookup.Balance(ctx)
	if err != nil {
		log.Warn("metrics: read the ledger's balance", "err", err)
		return
	}
	even := 0.0
	if b.Even() {
		even = 1
	}
	w.Counter("bareclaw_messages_accepted_total", "Messages ever accepted.", float64(b.Accepted))
	for _, o := range []struct {
		outcome string
		count   int64
	}{{"answered", b.Answered}, {"failed", b.Failed}, {"cancelled", b.Cancelled}} {
		w.Counter("bareclaw_messages_total", "Messages ever ended, by outcome.", float64(o.count), "outcome", o.outcome)
	}
	w.Gauge("bareclaw_messages_waiting", "Messages without an outcome, running ones included.", float64(b.Waiting))
	w.Gauge("bareclaw_balance_ok", "1 while every accepted message is accounted for exactly once.", even)
}

func writeStats(w *Writer, s *lanes.Stats) {
	w.Counter("bareclaw_turns_total", "Turns handed to the agent since start.", float64(s.Turns.Load()))
	w.Counter("bareclaw_turn_errors_total", "Turns that ended without an answer since start.", float64(s.TurnErrors.Load()))
	w.Counter("bareclaw_turns_resent_total", "Turns handed over again after a fault since start.", float64(s.Resent.Load()))
	w.Counter("bareclaw_turns_interrupted_total", "Turns interrupted since start.", float64(s.Interrupted.Load()))
	w.Counter("bareclaw_turns_stalled_total", "Turns without any output for too long, since start.", float64(s.Stalled.Load()))
	w.Counter("bareclaw_channels_parked_total", "Times a channel was parked without a login or at a limit, since start.", float64(s.Parked.Load()))
	w.Counter("bareclaw_sessions_idled_total", "Idle sessions ended since start.", float64(s.Idled.Load()))
	w.Counter("bareclaw_sessions_evicted_total", "Sessions ended for another channel, since start.", float64(s.Evicted.Load()))
	w.Counter("bareclaw_queue_refused_total", "Messages refused because their channel was full, since start.", float64(s.QueueRefused.Load()))
}

// WriteSchedules adds the counts of schedules.
func WriteSchedules(ctx context.Context, w *Writer, of *schedule.Scheduler, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if n, err := of.Active(ctx); err == nil {
		w.Gauge("bareclaw_schedules", "Schedules with due times to come.", float64(n))
	} else {
		log.Warn("metrics: read schedules", "err", err)
	}
	n := of.Stats()
	for _, o := range []struct {
		outcome schedule.Outcome
		count   int64
	}{{schedule.Sent, n.Sent}, {schedule.Skipped, n.Skipped}, {schedule.Missed, n.Missed}, {schedule.Refused, n.Refused}} {
		w.Counter("bareclaw_schedule_occurrences_total", "Due times of schedules since start, by outcome.", float64(o.count), "outcome", string(o.outcome))
	}
}
