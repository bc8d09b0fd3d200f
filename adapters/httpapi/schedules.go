package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/core/schedule"
	"bareclaw/internal/humanize"
)

type schedules struct{ *shared }

// post makes a schedule. A job with a precheck is refused on the Unix socket: permission
// for a command that makes a schedule does not permit every command line in a precheck.
func (s *schedules) post(w *response, r *http.Request, in *api.ScheduleRequest) (any, error) {
	req, err := newScheduleRequest(in)
	if err != nil {
		return nil, err
	}
	if err := s.checkChannel(r.Context(), req.Channel); err != nil {
		return nil, err
	}
	if err := s.checkReach(w, req.Channel); err != nil {
		return nil, err
	}
	if err := s.checkTyped(w, req.Text); err != nil {
		return nil, err
	}
	if req.Precheck != "" && w.local {
		return nil, notOnSocket("A schedule with a precheck, which is a command that nobody is asked about, is made over TCP")
	}
	key, err := idempotencyKey(r)
	if err != nil {
		return nil, err
	}
	if key != "" {
		req.SourceKey, req.SourceHash = "http:"+key, scheduleHash(&req)
	}
	j, existing, err := s.Schedules.Add(r.Context(), req)
	if err != nil {
		return nil, notScheduled(err)
	}
	if existing {
		w.Header().Set(api.HeaderReplayed, "true")
		return s.show(&j), nil
	}
	return nil, w.show(http.StatusCreated, s.show(&j))
}

// notScheduled makes an answer from an error of package schedule, and returns other
// errors unchanged.
func notScheduled(err error) error {
	wrong, told := (*schedule.InvalidError)(nil), (*core.PushError)(nil)
	switch {
	case errors.As(err, &wrong):
		return badRequest("bad_"+wrong.Field, "%s", wrong.Text)
	case errors.Is(err, schedule.ErrTooMany):
		return refuse(http.StatusConflict, api.TooManySchedules,
			fmt.Sprintf("There are %d schedules already, which is the limit; remove some with DELETE /schedules/{id}.", schedule.MaxJobs))
	case errors.Is(err, core.ErrNotAllowed) && errors.As(err, &told):
		return refuse(http.StatusForbidden, api.ChannelRefused, told.Text)
	}
	return err
}

// newScheduleRequest checks the channel and the text; the scheduler checks the rest.
func newScheduleRequest(in *api.ScheduleRequest) (j schedule.Job, err error) {
	if in.Channel == "" {
		return j, badRequest(api.MissingChannel, `Missing "channel" field: name the channel that the text is for.`)
	}
	j = schedule.Job{Text: in.Text, When: in.When, TZ: in.TZ, Missed: in.Missed, Precheck: in.Precheck, Budget: in.BudgetUSD}
	if j.Channel, err = parseKey(in.Channel); err != nil {
		return j, err
	}
	return j, checkText(j.Text)
}

func scheduleHash(j *schedule.Job) string {
	return digest([]string{string(j.Channel), j.Text, j.When, j.TZ, j.Missed, j.Precheck, strconv.FormatFloat(j.Budget, 'g', -1, 64)}, nil)
}

func (s *schedules) list(_ *response, r *http.Request) (any, error) {
	jobs, err := s.Schedules.Jobs(r.Context())
	return api.Schedules{Zone: s.Schedules.Zone(), Schedules: each(jobs, s.show)}, err
}

// onSchedule returns a handler that is called with the id of the schedule in the request's path,
// which may be shortened. An id that is not known goes on to the handler as it is.
func (s *schedules) onSchedule(h func(w *response, r *http.Request, id string) (any, error)) handlerFunc {
	return func(w *response, r *http.Request) (any, error) {
		text := pathParam(r, "id")
		id, err := s.Schedules.Find(r.Context(), text)
		if isUnknown(err) {
			id, err = text, nil
		}
		if err != nil {
			return nil, err
		}
		return h(w, r, id)
	}
}

func (s *schedules) get(_ *response, r *http.Request, id string) (any, error) {
	j, all, err := s.Schedules.Job(r.Context(), id)
	if err != nil {
		return nil, err
	}
	shown := s.show(&j)
	shown.Occurrences = each(all, showOccurrence)
	return &shown, nil
}

func showOccurrence(o *schedule.Occurrence) api.Occurrence {
	shown := api.Occurrence{
		Due:       o.Due,
		Outcome:   string(o.Outcome),
		DecidedAt: o.DecidedAt,
		MessageID: string(o.Message),
		Late:      o.Late,
		ByHand:    o.ByHand,
		Status:    o.Status,
		Why:       o.Why,
	}
	if a := o.Answer; a != nil {
		shown.Answer = &api.Answer{
			State:      string(a.State),
			Code:       a.Code,
			Text:       a.Text,
			CostUSD:    humanize.RoundUSD(a.CostUSD),
			DurationMS: a.Duration.Milliseconds(),
			Push:       string(a.Push),
			To:         string(a.To),
			Problem:    a.Problem,
		}
	}
	return shown
}

// run runs a schedule once for the due time in the body, even if the request is repeated. A
// built-in schedule is waited for.
func (s *schedules) run(w *response, r *http.Request, id string) (any, error) {
	var in api.RunRequest
	if err := readBody(w, r, &in); err != nil {
		return nil, err
	}
	if err := s.checkReachOfSchedule(w, r, id); err != nil {
		return nil, err
	}
	wait, err := waitParam(r)
	if err != nil {
		return nil, err
	}
	due, err := time.Parse(time.RFC3339, in.Due)
	if err != nil {
		return nil, badRequest(api.BadDue, `"due" must be the time at which the run is due, such as 2030-01-31T09:00:00Z.`)
	}
	o, err := s.runFor(r.Context(), id, due, wait)
	if errors.Is(err, schedule.ErrSlot) {
		return nil, badRequest(api.BadDue, `"due" is in the future.`)
	}
	return showOccurrence(&o), err
}

func (s *schedules) runFor(ctx context.Context, id string, due time.Time, wait time.Duration) (schedule.Occurrence, error) {
	if !s.Schedules.IsBuiltIn(id) {
		return s.Schedules.RunNow(ctx, id, due)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer context.AfterFunc(s.lifecycle, cancel)()
	return s.Schedules.Trigger(ctx, id, due)
}

// changing returns a handler that changes a schedule with change.
func (s *schedules) changing(change func(ctx context.Context, id string) (schedule.Job, error)) handlerFunc {
	return s.onSchedule(func(w *response, r *http.Request, id string) (any, error) {
		if err := readOptionalBody(w, r, &struct{}{}); err != nil {
			return nil, err
		}
		if err := s.checkReachOfSchedule(w, r, id); err != nil {
			return nil, err
		}
		j, err := change(r.Context(), id)
		if errors.Is(err, schedule.ErrOver) {
			return nil, refuse(http.StatusConflict, api.ScheduleOver,
				"No time of this schedule is to come. Run it with POST /schedules/{id}/run, or make a new one.")
		}
		return s.show(&j), err
	})
}

func (s *schedules) remove(w *response, r *http.Request, id string) (any, error) {
	if err := s.checkReachOfSchedule(w, r, id); err != nil {
		return nil, err
	}
	return remove(w, r, id, s.Schedules.Remove)
}

// checkReachOfSchedule is checkReach for the channel of a schedule. One that does not exist is left
// to what follows.
func (s *schedules) checkReachOfSchedule(w *response, r *http.Request, id string) error {
	if !w.local {
		return nil
	}
	j, _, err := s.Schedules.Job(r.Context(), id)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.checkReach(w, j.Channel)
}

func remove(w *response, r *http.Request, id string, remove func(ctx context.Context, id string) error) (any, error) {
	err := remove(r.Context(), id)
	if w.repeated && errors.Is(err, core.ErrNotFound) {
		err = nil // the repeated request itself removed the schedule
	}
	return api.Removed{Status: "removed", ID: id}, err
}

func (s *schedules) show(j *schedule.Job) api.Schedule {
	shown := api.Schedule{
		ID:        j.ID,
		Channel:   string(j.Channel),
		Text:      j.Text,
		When:      j.When,
		TZ:        j.TZ,
		Missed:    j.Missed,
		Precheck:  j.Precheck,
		BudgetUSD: j.Budget,
		State:     api.ScheduleActive,
		Zone:      cmp.Or(j.TZ, s.Schedules.Zone()),
		Adapter:   s.Core.Deliverers.Deliverer(j.Channel),
		CreatedAt: j.CreatedAt,
		DoneAt:    j.DoneAt,
		Next:      s.Schedules.Next(j),
	}
	switch {
	case !j.DoneAt.IsZero():
		shown.State = api.ScheduleDone
	case j.Paused:
		shown.State = api.SchedulePaused
	}
	return shown
}
