package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
	inert func(text string) string
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

// target returns the channel that the text is for: the caller's own by default.
func (schedules) target(_ context.Context, c tools.Call, args createArgs) (core.ChannelKey, error) {
	return cmp.Or(args.Channel, c.Channel), nil
}

func (s schedules) create(ctx context.Context, c tools.Call, args createArgs) (any, error) {
	args.Channel = cmp.Or(args.Channel, c.Channel)
	switch {
	case strings.TrimSpace(args.Text) == "":
		return nil, errors.New("the text is blank")
	case args.Channel == "":
		return nil, errors.New("name the channel that the text is for")
	}
	if args.Channel != c.Channel {
		if err := s.channels.check(ctx, args.Channel); err != nil {
			return nil, err
		}
	}
	j, _, err := s.Add(ctx, schedule.Job{
		Channel:   args.Channel,
		Text:      s.inert(args.Text),
		When:      args.When,
		TZ:        args.TZ,
		Missed:    args.Missed,
		Budget:    args.BudgetUSD,
		SourceKey: sourceKey(&c),
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
	Text      string          `json:"text,omitempty"`
	When      string          `json:"when"`
	TZ        string          `json:"tz,omitempty"`
	Missed    string          `json:"missed"`
	BudgetUSD float64         `json:"budget_usd,omitempty"`
	Next      []time.Time     `json:"next,omitempty"`
	Paused    bool            `json:"paused,omitempty"`
	DoneAt    time.Time       `json:"done_at,omitzero"`
}

func (s schedules) show(j *schedule.Job) job {
	return job{j.ID, j.Channel, j.Text, j.When, j.TZ, j.Missed, j.Budget, s.Next(j), j.Paused, j.DoneAt}
}

// list lists all schedules. What another channel is told is not for this one.
func (s schedules) list(ctx context.Context, c tools.Call, _ struct{}) (any, error) {
	all, err := s.Jobs(ctx)
	list := make([]job, len(all))
	for i := range all {
		list[i] = s.show(&all[i])
		if !c.ByUser() && all[i].Channel != c.Channel {
			list[i].Text = ""
		}
	}
	return map[string]any{"schedules": list}, err
}

// channelOf returns the channel of the schedule to delete; that of the caller where there is none.
func (s schedules) channelOf(ctx context.Context, c tools.Call, args removeArgs) (core.ChannelKey, error) {
	all, err := s.Jobs(ctx)
	if i := slices.IndexFunc(all, func(j schedule.Job) bool { return j.ID == args.ID }); i >= 0 {
		return all[i].Channel, nil
	}
	return c.Channel, err
}

type removeArgs struct{ ID string }

func (s schedules) remove(ctx context.Context, c tools.Call, args removeArgs) (any, error) {
	err := s.Remove(ctx, args.ID)
	if errors.Is(err, core.ErrNotFound) {
		if !c.Repeated {
			return nil, fmt.Errorf("there is no schedule %.60q; schedule_list lists all", args.ID)
		}
		err = nil // the call itself has deleted the schedule
	}
	return map[string]any{"id": args.ID, "status": "deleted"}, err
}
