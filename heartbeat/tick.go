package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
	"bareclaw/internal/wait"
)

// run performs the tick: revive the gateway, then request the run of the slot.
func (t *tick) run(ctx context.Context) error {
	err := t.revive(ctx)
	if err == nil {
		err = t.work(ctx)
	} else if !isStopped(err) {
		t.log.printf("unreachable: %q", err.Error())
		return errors.Join(err, t.records.add(t.report(NotThere, err.Error())))
	}
	if isStopped(err) {
		t.log.printf("%s", err.Error())
		return t.records.add(t.report(Stopped, ""))
	}
	return err
}

func isStopped(err error) bool {
	_, stopped := errors.AsType[stoppedError](err)
	return stopped
}

func (t *tick) work(ctx context.Context) error {
	if !Asks(t.Config) {
		t.log.printf("the gateway serves; Claude is not asked (revive only)")
		return t.records.add(t.report(Serves, ""))
	}
	return t.ask(ctx)
}

func (t *tick) report(o Outcome, detail string) Tick {
	return Tick{Slot: t.slot, At: t.begun.UTC(), Outcome: o, Detail: detail, Started: t.woke}
}

// ask makes the gateway run the heartbeat's schedule for the tick's slot, and records
// the result. A slot has one run regardless of the number of requests. ask returns an
// error if the run failed or the push to the user failed.
func (t *tick) ask(ctx context.Context) error {
	o, err := t.awaitRun(ctx)
	if err != nil && !isStopped(err) && ctx.Err() == nil {
		t.log.printf("failed: %q", err.Error())
		return errors.Join(err, t.records.add(t.report(Failed, err.Error())))
	}
	if err != nil {
		return err
	}
	runs, err := t.gateway.runs(ctx)
	if err != nil {
		t.log.printf("earlier runs cannot be looked at: %q", err.Error())
	}
	if told := t.records.update(runs); told > 0 {
		t.log.printf("told %q of %d earlier ticks", t.Config.Heartbeat.Notify, told)
	}
	now := t.report("", "")
	now.fill(&o)
	if now.Problem != "" && t.Config.Heartbeat.Notify == "" {
		now.Problem = "BARECLAW_HEARTBEAT_NOTIFY is not set: the answer is kept on the channel " + Channel
	}
	t.log.printf("%s", now.String())
	if err := t.note(now); err != nil {
		return err
	}
	for _, owed := range t.records.Owed() {
		return fmt.Errorf("tell %s what the heartbeat has found: %s", owed.To, owed.Problem)
	}
	if o.Outcome == api.OutcomeRefused {
		return errors.New(o.Why)
	}
	return nil
}

// note records the report on this tick. A report on a run that an earlier tick already
// recorded is not added again.
func (t *tick) note(now Tick) error {
	for i := range t.records.Ticks {
		before := &t.records.Ticks[i]
		if before.Slot.Equal(now.Slot) && before.Message == now.Message && (now.Message != "" || before.Outcome == Asked && now.Outcome == Asked) {
			return t.records.save()
		}
	}
	return t.records.add(now)
}

// awaitRun requests the run of the tick's slot until the run is over, the run's message
// is parked, or Patience has passed. awaitRun revives the gateway after a failed
// request.
func (t *tick) awaitRun(ctx context.Context) (api.Occurrence, error) {
	t.log.printf("asking for the run of the slot of %s", t.slot.Format(time.RFC3339))
	deadline := time.Now().Add(t.Patience)
	for {
		o, err := t.gateway.run(ctx, t.slot, max(0, min(time.Until(deadline), time.Minute)))
		refused := (*client.Error)(nil)
		switch {
		case ctx.Err() != nil:
			return o, context.Cause(ctx)
		case errors.As(err, &refused) && refused.Status < 500:
			return o, fmt.Errorf("the gateway refuses the heartbeat: %w", err)
		case err != nil && time.Now().After(deadline):
			return o, fmt.Errorf("the gateway does not answer: %w", err)
		case err != nil:
			t.log.printf("the gateway does not answer: %q", err.Error())
			if err := t.pause(ctx); err != nil {
				return o, err
			}
		case settled(&o), time.Now().After(deadline):
			return o, nil
		}
	}
}

func (t *tick) pause(ctx context.Context) error {
	if err := wait.Sleep(ctx, time.Second); err != nil {
		return err
	}
	return t.revive(ctx)
}

func (t *Tick) fill(o *api.Occurrence) {
	t.Message, t.Detail = o.MessageID, o.Why
	a := o.Answer
	switch {
	case o.Outcome == api.OutcomeSkipped && o.Status != 0:
		t.Outcome = Nothing
	case o.Outcome == api.OutcomeSkipped:
		t.Outcome = Busy
	case o.Outcome == api.OutcomeRefused:
		t.Outcome = Failed
	case a == nil && o.Why != "":
		t.Outcome = Parked
	case a == nil:
		t.Outcome = Asked
	default:
		t.Detail, t.CostUSD, t.TookMS = a.Text, a.CostUSD, a.DurationMS
		t.To, t.Owed, t.Pushed, t.Problem = a.To, a.Push == api.PushPending, a.Push == api.PushDone, a.Problem
		t.Outcome = map[string]Outcome{api.Answered: Said, api.Failed: Failed, api.Cancelled: Failed}[a.State]
		switch {
		case a.Push == api.PushQuiet:
			t.Outcome = OK
		case a.State == api.Answered && t.Pushed:
			t.Outcome = Told
		}
	}
}

// String describes the tick, except for the time, for a person.
func (t *Tick) String() string {
	const maxDetail = 100
	text := string(t.Outcome)
	if t.Message != "" {
		text += ", message " + t.Message
	}
	if t.Started {
		text += ", started the gateway"
	}
	if t.TookMS > 0 {
		text += fmt.Sprintf(", %s, $%.4f", (time.Duration(t.TookMS) * time.Millisecond).Round(100*time.Millisecond), t.CostUSD)
	}
	switch {
	case t.Pushed:
		text += ", told " + t.To
	case t.Owed:
		text += ", not told yet: " + t.Problem
	case t.Problem != "":
		text += ", not told: " + t.Problem
	}
	if t.Detail != "" {
		text += ": " + humanize.Shorten(t.Detail, maxDetail)
	}
	return term.SafeLine(text)
}

const (
	// healthLimit is the timeout of a health check.
	healthLimit = 5 * time.Second
	// requestLimit is the timeout of all further requests, not counting requested waits. The
	// gateway abandons a push earlier.
	requestLimit = 3 * time.Minute
)

// A gateway is an API client with the calls that a tick needs.
type gateway struct{ *client.Client }

// settled reports whether a run is final for the tick: the run is over, or the run's
// message waits on a parked channel.
func settled(o *api.Occurrence) bool {
	switch o.Outcome {
	case api.OutcomeDue:
		return false
	case api.OutcomeSent:
		return o.Answer != nil || o.Why != ""
	}
	return true
}

func (g gateway) health(ctx context.Context) (h api.Health, err error) {
	return h, g.do(ctx, healthLimit, http.MethodGet, api.PathHealth, nil, &h)
}

// run starts the run of a slot, or finds an existing run, and returns the run's state as
// soon as the run is over or wait has passed.
func (g gateway) run(ctx context.Context, slot time.Time, wait time.Duration) (o api.Occurrence, err error) {
	query := url.Values{"wait": {wait.String()}}
	return o, g.do(ctx, wait+requestLimit, http.MethodPost, api.SchedulePath(ID)+"/run?"+query.Encode(), api.RunRequest{Due: slot.UTC().Format(time.RFC3339)}, &o)
}

func (g gateway) runs(ctx context.Context) ([]api.Occurrence, error) {
	var s api.Schedule
	err := g.do(ctx, requestLimit, http.MethodGet, api.SchedulePath(ID), nil, &s)
	return s.Occurrences, err
}

func (g gateway) do(ctx context.Context, limit time.Duration, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return g.Do(ctx, method, path, in, out)
}
