package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bareclaw/core"
	"bareclaw/core/schedule"
	"bareclaw/core/tools"
)

// A Scheduler keeps schedules. The methods are those of schedule.Scheduler.
type Scheduler interface {
	Add(ctx context.Context, j schedule.Job) (added schedule.Job, existing bool, err error)
	Jobs(ctx context.Context) ([]schedule.Job, error)
	Next(j *schedule.Job) []time.Time
	Remove(ctx context.Context, id string) error
}

type schedules struct {
	channels channels
	Scheduler
}

// createArgs have no precheck: a command line that runs without the agent's permissions is for
// people.
type createArgs struct {
	Text      string          `json:"text"`
	When      string          `json:"when"`
	Channel   core.ChannelKey `json:"channel"`
	TZ        string          `json:"tz"`
	Missed    string          `json:"missed"`
	BudgetUSD float64         `json:"budget_usd"`
}

func (s schedules) create(ctx context.Context, c tools.Call, args createArgs) (any, error) {
	switch {
	case strings.TrimSpace(args.Text) == "":
		return nil, errors.New("the text is blank")
	case args.Channel == "" && c.Channel == "":
		return nil, errors.New("name the channel that the text is for")
	case args.Channel == "":
		args.Channel = c.Channel
	}
	if args.Channel != c.Channel {
		if err := s.channels.check(ctx, args.Channel); err != nil {
			return nil, err
		}
	}
	j, _, err := s.Add(ctx, schedule.Job{
		Channel: args.Channel, Text: args.Text, When: args.When, TZ: args.TZ, Missed: args.Missed, Budget: args.BudgetUSD, SourceKey: sourceKey(&c),
	})
	if errors.Is(err, schedule.ErrTooMany) {
		return nil, fmt.Errorf("there are %d schedules already, which is the limit; delete some with schedule_delete", schedule.MaxJobs)
	}
	return s.show(&j), err
}

// A job is a schedule as the tools show it.
type job struct {
	ID        string          `json:"id"`
	Channel   core.ChannelKey `json:"channel"`
	Text      string          `json:"text"`
	When      string          `json:"when"`
	TZ        string          `json:"tz,omitempty"`
	Missed    string          `json:"missed"`
	BudgetUSD float64         `json:"budget_usd,omitempty"`
	Next      []time.Time     `json:"next,omitempty"`
	DoneAt    time.Time       `json:"done_at,omitzero"`
}

func (s schedules) show(j *schedule.Job) job {
	return job{j.ID, j.Channel, j.Text, j.When, j.TZ, j.Missed, j.Budget, s.Next(j), j.DoneAt}
}

func (s schedules) list(ctx context.Context, _ tools.Call, _ struct{}) (any, error) {
	all, err := s.Jobs(ctx)
	list := make([]job, len(all))
	for i := range all {
		list[i] = s.show(&all[i])
	}
	return map[string]any{"schedules": list}, err
}

func (s schedules) remove(ctx context.Context, c tools.Call, args struct{ ID string }) (any, error) {
	err := s.Remove(ctx, args.ID)
	if errors.Is(err, core.ErrNotFound) {
		if !c.Repeated {
			return nil, fmt.Errorf("there is no schedule %q; schedule_list lists all", args.ID)
		}
		err = nil // the call itself has deleted the schedule
	}
	return map[string]any{"id": args.ID, "status": "deleted"}, err
}
