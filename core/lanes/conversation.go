package lanes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bareclaw/core"
	"bareclaw/core/sessionpool"
	"bareclaw/core/spending"

	"github.com/google/uuid"
)

type opening struct {
	session   core.Session
	refusals  refusals
	launch    core.Launch
	cost      float64
	saveError error // failure to save the session id
	err       error
}

// wornPart is the part of a turn's budget spent by a session before the lane replaces the
// session. The agent counts from the start of the process, which reduces the budget of later
// turns.
const wornPart = 1.0 / 10

// A conversation is the agent's side of a channel: the session's id, and the session while
// one is alive.
type conversation struct {
	*channel
	queue *queue
	slot  *sessionpool.Slot

	id            string
	unopened      bool          // the gateway made the id, and no recorded turn opens the session
	saving        int           // ids being written to disk
	session       *agentSession // nil without a session
	opening       bool          // a session is being started
	attaching     bool          // the session host of an earlier process is being looked for
	ending        bool          // the unused session is being ended
	held          *hold         // why the next start is postponed; nil if the agent could be started
	refusals      refusals      // of the API, since the session's last answer
	startRefusals int           // consecutive starts in which the agent refused the id
	exit          *core.Exit    // reason for the last session's end, as reported by the session
	unassigned    *core.Result  // an error result without turn ids
	model         string        // last model reported by the session; empty before the first report
	cost          spending.Meter
	counted       []core.Background // background results that an earlier gateway has recorded, and counted
}

func (cv *conversation) newID() string {
	if cv.manager.ChannelSettings.Fingerprint(cv.key) == "" { // spare sessions run without channel settings
		if id, ok := cv.manager.o.Agent.Reserve(); ok {
			return id
		}
	}
	return uuid.NewString()
}

// isSaved reports whether a new lane would find the session id.
func (cv *conversation) isSaved() bool {
	if cv.id == "" || !cv.manager.o.Agent.Lasting() {
		return true
	}
	id, ok := cv.manager.o.Sessions.Get(cv.key)
	return ok && id == cv.id
}

// saveID makes the session id durable, if the agent can resume sessions at all.
func (cv *conversation) saveID(id string) error {
	if old, ok := cv.manager.o.Sessions.Get(cv.key); ok && old == id || !cv.manager.o.Agent.Lasting() {
		return nil
	}
	return cv.manager.o.Sessions.Set(cv.key, id)
}

// remember saves the session id, repeats the save if the id has changed meanwhile,
// and then runs then on the lane's goroutine.
func (cv *conversation) remember(then func()) {
	id := cv.id
	cv.saving++
	cv.async(func(context.Context) func() {
		err := cv.saveID(id)
		return func() {
			cv.saving--
			if err != nil {
				cv.log.Error("session id not saved", "session", id, "err", err)
			}
			if cv.id != id {
				cv.remember(then)
				return
			}
			then()
		}
	})
}

// launch saves the session's id and starts the session. The ledger decides between beginning
// and resuming, unless the session is unopened or known to exist. launch blocks until the
// host answers.
func (cv *conversation) launch(ctx context.Context, id string, unopened, exists bool) opening {
	o := opening{launch: core.Launch{SessionID: id, Settings: cv.manager.ChannelSettings.Settings(cv.key)}}
	saved := make(chan error, 1)
	go func() { saved <- cv.saveID(id) }() // ends with the write; launch waits below
	if !unopened {
		use, err := cv.sessionUse(ctx, id)
		if err != nil {
			o.err = &core.AgentError{Code: core.CodeStorage, Text: "The ledger could not be read", Err: err}
		}
		o.launch.Resume, o.cost = exists || use.Completed || !use.Ours, use.TotalCost
		if use.Completed {
			o.refusals = cv.refusalsOf(ctx, id)
		}
	}
	if o.err == nil {
		o.session, o.err = cv.manager.o.Agent.Start(ctx, cv.key, o.launch)
	}
	o.saveError = <-saved
	return o
}

// sessionUse reads how a session was used. The ledger completes earlier writes before
// reading, so sessionUse waits while the disk is full, until ctx ends.
func (cv *conversation) sessionUse(ctx context.Context, id string) (core.SessionUse, error) {
	pauses := storageBackoff()
	for {
		use, err := cv.manager.o.Ledger.SessionUse(ctx, id)
		if !errors.Is(err, core.ErrStorageFull) {
			return use, err
		}
		if pauses.Failures() == 0 {
			cv.log.Error("session not started yet", "err", err)
		}
		if pauses.Sleep(ctx) != nil {
			return use, err
		}
	}
}

func (cv *conversation) adopt(s core.Session) {
	cv.session = newAgentSession(s)
	cv.exit, cv.unassigned = nil, nil
	if cv.session.ready {
		cv.held = nil
	}
	cv.publishedUpTo = cv.manager.Feeds.PublishedUpTo(cv.key, cv.session.host())
}

// noteVersion records the version of the agent's program, if an event reports one.
func (cv *conversation) noteVersion(version string) {
	if version == "" || version == cv.session.info.Version {
		return
	}
	cv.log.Info("session reports its version", "agent_version", version)
	cv.session.info.Version = version
}

func (cv *conversation) detachIfLeaving(s core.Session) bool {
	if cv.manager.ctx.Err() == nil {
		return false
	}
	if s != nil {
		s.Detach()
	}
	return true
}

func (cv *conversation) events() <-chan *core.Batch {
	if cv.session == nil {
		return nil
	}
	return cv.session.events
}

// end ends the session gently; the next message resumes the conversation. New messages
// wait meanwhile.
func (cv *conversation) end(why string) {
	cv.log.Info("session is ended", "why", why, "silent_for", cv.session.activity.silence())
	cv.ending = true
	cv.beginOperation(endingUnused)
	cv.slot.MarkEnding()
	if err := cv.session.Stop(core.StopGently); err != nil {
		cv.log.Warn("request to end the session not sent", "err", err) // the session's end is reported in any case
	}
}

// outdated returns why to end an unused session at once, for the next message to start a new
// process; empty if the session may stay.
func (cv *conversation) outdated() string {
	switch {
	case cv.session.info.Stale:
		return "obsolete: it was started by another program, or with other settings of claude"
	case cv.settingsStale():
		return "its channel has other settings"
	case cv.turnBudgetSpent():
		return "a part of a turn's budget is spent"
	case cv.queue.parked != nil && cv.queue.parked.code == core.CodeNotLoggedIn:
		return "a new session reads the new login"
	}
	return ""
}

// settingsStale reports whether the session was started with other settings than the
// channel's present settings.
func (cv *conversation) settingsStale() bool {
	return cv.session != nil && cv.session.info.Settings != cv.manager.ChannelSettings.Fingerprint(cv.key)
}

// turnBudgetSpent reports whether to replace the session between turns, because the agent's
// process has used up the budget of a turn, or at least wornPart of the budget. Background
// tasks, and the report after the last task has ended, keep a process with some budget left.
func (cv *conversation) turnBudgetSpent() bool {
	limit := cv.manager.o.TurnBudget
	if limit <= 0 || cv.session == nil {
		return false
	}
	b := &cv.session.background
	return cv.cost.Exhausted() || b.Tasks == 0 && !b.mayReport() && cv.cost.InProcess() >= limit*wornPart
}

func (cv *conversation) slotWait() string {
	if !cv.slot.Waiting() {
		return ""
	}
	return fmt.Sprintf("All %d sessions%s are busy; messages wait until one is free.", cv.manager.pool.Limits().Sessions, parenthesized(cv.manager.o.Advice.MaxSessions))
}

// withUndo appends, to the outcome of a turn failed by a channel setting, how to remove the
// setting.
func (cv *conversation) withUndo(r core.Reply) core.Reply {
	s := cv.manager.ChannelSettings.Settings(cv.key)
	advice := &cv.manager.o.Advice
	var own, ways []string
	if s.Model != "" {
		own, ways = append(own, fmt.Sprintf("the model %q", s.Model)), append(ways, advice.UndoModel)
	}
	if s.PermissionMode != "" && r.Code != core.CodeBadModel {
		own, ways = append(own, fmt.Sprintf("the permission mode %q", s.PermissionMode)), append(ways, advice.UndoMode)
	}
	if len(own) == 0 {
		return r
	}
	undo := fmt.Sprintf(" (This channel has %s of its own. Set another one, or remove it", strings.Join(own, " and "))
	if advice.Undo != "" {
		undo += ": " + strings.Join(ways, " and ") + ", or " + advice.Undo
	}
	undo += ".)"
	r = r.Complete()
	r.Text, r.Error = r.Text+undo, r.Error+undo
	return r
}
