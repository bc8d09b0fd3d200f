package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/core"
	"bareclaw/core/schedule"
)

// postSchedule is POST /schedules. A job with a precheck is not taken on the Unix
// socket: the agent's own commands reach that, and whoever has allowed them has not
// allowed every command line that one may contain.
func (s *Server) postSchedule(w *response, r *http.Request) error {
	var req schedule.Request
	err := s.withBody(w, r, func(dec *jsontext.Decoder) (err error) {
		req, err = decodeSchedule(dec)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.usable(r.Context(), req.Channel); err != nil {
		return err
	}
	if req.Precheck != "" && w.local {
		return refuse(http.StatusForbidden, "not_on_socket",
			"A schedule with a precheck is made over TCP: this socket is open to the agent's own commands, and a precheck runs without its permissions.")
	}
	if s.Draining() && !isClosed(s.succession.begun) {
		return shuttingDown()
	}
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	if key != "" {
		req.SourceKey, req.SourceHash = "http:"+key, scheduleHash(&req)
	}
	j, existing, err := s.o.Schedules.Add(r.Context(), req)
	if err != nil {
		return notScheduled(err)
	}
	status := http.StatusCreated
	if existing {
		status = http.StatusOK
		w.Header().Set("Idempotency-Replayed", "true")
	}
	return showAs(w, status, s.showSchedule(&j))
}

// notScheduled makes of an error what the client is told, where it is one of schedules.
func notScheduled(err error) error {
	wrong, told := (*schedule.InvalidError)(nil), (*core.PushError)(nil)
	switch {
	case errors.As(err, &wrong):
		return badRequest("bad_"+wrong.Field, "%s", wrong.Text)
	case errors.Is(err, schedule.ErrTooMany):
		return refuse(http.StatusConflict, "too_many_schedules",
			fmt.Sprintf("There are %d schedules already, which is as many as there may be; remove some with DELETE /schedules/{id}.", schedule.MaxJobs))
	case errors.Is(err, core.ErrNotAllowed) && errors.As(err, &told):
		return refuse(http.StatusForbidden, "channel_refused", told.Text)
	}
	return err
}

func decodeSchedule(dec *jsontext.Decoder) (r schedule.Request, err error) {
	var channel *string
	err = object(dec, func(name string) (err error) {
		switch name {
		case "channel":
			var s string
			s, err = str(dec, "bad_channel", `"channel"`)
			channel = &s
		case "text":
			r.Text, err = str(dec, "bad_text", `"text"`)
		case "when":
			r.When, err = str(dec, "bad_when", `"when"`)
		case "tz":
			r.TZ, err = str(dec, "bad_tz", `"tz"`)
		case "missed":
			r.Missed, err = str(dec, "bad_missed", `"missed"`)
		case "precheck":
			r.Precheck, err = str(dec, "bad_precheck", `"precheck"`)
		case "budget_usd":
			r.Budget, err = budgetField(dec)
		default:
			err = skip(dec)
		}
		return err
	})
	switch {
	case err != nil:
		return r, err
	case channel == nil:
		return r, badRequest("missing_channel", `Missing "channel" field: name the channel that the text is for.`)
	}
	if r.Channel, err = parseKey(*channel); err != nil {
		return r, err
	}
	return r, checkText(r.Text)
}

func budgetField(dec *jsontext.Decoder) (float64, error) {
	v, err := value(dec, '0', "bad_budget", `"budget_usd" must be a number.`)
	if err != nil {
		return 0, err
	}
	usd, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		return 0, badRequest("bad_budget", `"budget_usd" is too large a number.`)
	}
	return usd, nil
}

// scheduleHash identifies what a request asks for.
func scheduleHash(r *schedule.Request) string {
	h := sha256.New()
	for _, s := range []string{string(r.Channel), r.Text, r.When, r.TZ, r.Missed, r.Precheck, strconv.FormatFloat(r.Budget, 'g', -1, 64)} {
		hashPart(h, []byte(s))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (s *Server) getSchedules(w *response, r *http.Request) error {
	jobs, err := s.o.Schedules.Jobs(r.Context())
	if err != nil {
		return err
	}
	shown := make([]scheduleShape, len(jobs))
	for i := range jobs {
		shown[i] = s.showSchedule(&jobs[i])
	}
	return show(w, struct {
		Schedules []scheduleShape `json:"schedules"`
	}{shown})
}

func (s *Server) getSchedule(w *response, r *http.Request) error {
	j, all, err := s.o.Schedules.Job(r.Context(), chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	shape := s.showSchedule(&j)
	shape.Occurrences = make([]occurrenceShape, len(all))
	for i := range all {
		shape.Occurrences[i] = showOccurrence(&all[i])
	}
	return show(w, shape)
}

func (s *Server) removeSchedule(w *response, r *http.Request) error {
	return s.remove(w, r, s.o.Schedules.Remove)
}

// remove removes what the request names, and says so.
func (s *Server) remove(w *response, r *http.Request, remove func(ctx context.Context, id string) error) error {
	if s.Draining() && !isClosed(s.succession.begun) {
		return shuttingDown()
	}
	id := chi.URLParam(r, "id")
	err := remove(r.Context(), id)
	if w.repeated && errors.Is(err, core.ErrNotFound) {
		err = nil // it was this request that removed it
	}
	if err != nil {
		return err
	}
	return show(w, struct {
		Status string `json:"status"`
		ID     string `json:"id"`
	}{"removed", id})
}

type scheduleShape struct {
	ID        string   `json:"id"`
	Channel   string   `json:"channel"`
	Text      string   `json:"text"`
	When      string   `json:"when"`
	TZ        string   `json:"tz,omitempty"`
	Missed    string   `json:"missed"`
	Precheck  string   `json:"precheck,omitempty"`
	BudgetUSD float64  `json:"budget_usd,omitzero"`
	State     string   `json:"state"`
	CreatedAt string   `json:"created_at"`
	DoneAt    string   `json:"done_at,omitempty"`
	Next      []string `json:"next"`
	// Occurrences are only told of a schedule that is asked for by its id.
	Occurrences []occurrenceShape `json:"occurrences,omitzero"`
}

type occurrenceShape struct {
	Due       string `json:"due"`
	Outcome   string `json:"outcome"`
	DecidedAt string `json:"decided_at"`
	MessageID string `json:"message_id,omitempty"`
	Late      bool   `json:"late,omitzero"`
	Status    int    `json:"status,omitzero"`
	Why       string `json:"why,omitempty"`
}

func (s *Server) showSchedule(j *schedule.Job) scheduleShape {
	shape := scheduleShape{
		ID: j.ID, Channel: string(j.Channel), Text: j.Text, When: j.When, TZ: j.TZ, Missed: j.Missed, Precheck: j.Precheck, BudgetUSD: j.Budget,
		State: "active", CreatedAt: stamp(j.CreatedAt), DoneAt: stamp(j.DoneAt), Next: stampsOf(s.o.Schedules.Next(j)),
	}
	if !j.DoneAt.IsZero() {
		shape.State = "done"
	}
	return shape
}

func stampsOf(all []time.Time) []string {
	shown := make([]string, len(all))
	for i, t := range all {
		shown[i] = stamp(t)
	}
	return shown
}

func showOccurrence(o *schedule.Occurrence) occurrenceShape {
	return occurrenceShape{
		Due: stamp(o.Due), Outcome: string(o.Outcome), DecidedAt: stamp(o.DecidedAt), MessageID: string(o.Message),
		Late: o.Late, Status: o.Status, Why: o.Why,
	}
}
