package lanes

import (
	"context"
	"errors"
	"time"

	"bareclaw/core"
	"bareclaw/core/feed"

	"github.com/google/uuid"
)

// An agentSession is the live session of a lane. The methods with a comment about nil may be
// called without a session.
type agentSession struct {
	core.Session
	events         <-chan []core.Event
	info           core.SessionInfo
	ready          bool
	interruptLater bool   // stopped turns wait for the end of the session's replay before the interrupt
	hostBlocked    string // why the host cannot store the agent's output and does not read more; empty otherwise
	acks           acks
	replayed       replayedTurns
	background     background
	activity       activity
}

func newAgentSession(s core.Session) *agentSession {
	a := &agentSession{Session: s, events: s.Events(), info: s.Info(), acks: acks{ack: s.Ack}}
	a.ready, a.background.tasks = a.info.Ready, a.info.Tasks
	a.activity.touch()
	return a
}

// host identifies the process holding the session.
func (s *agentSession) host() feed.HostID {
	return feed.HostID{PID: s.info.HostPID, Start: s.info.HostStart}
}

// isKnown reports whether an earlier gateway may have seen the event being handled.
func (s *agentSession) isKnown() bool { return s.acks.last <= s.info.Said }

// replaying reports whether the host is still replaying events from before the attachment.
func (s *agentSession) replaying() bool { return s.info.Replays && s.acks.last < s.info.Said }

// touch records an event of the agent, or new work given to the agent. A nil session is
// ignored.
func (s *agentSession) touch() {
	if s != nil {
		s.activity.touch()
	}
}

// blocked returns why the host does not read the agent; empty if nothing is wrong, and for a
// nil session.
func (s *agentSession) blocked() string {
	if s == nil {
		return ""
	}
	return s.hostBlocked
}

// maxAttempts bounds the handovers of a turn, because a message crashing the agent each time
// must not run for ever.
const maxAttempts = 3

// openSession starts the channel's session, unless a session exists or is being started.
func (l *lane) openSession() {
	if l.session != nil || l.opening || !l.acquireSlot() {
		return
	}
	l.opening = true
	id, unopened := l.sessionID, l.unopened
	exists := l.exit != nil && l.exit.Reason == core.ExitSessionInUse
	l.manager.wg.Go(func() {
		o := opening{err: &core.AgentError{Code: core.CodeInternal, Text: internalText}} // unless launch returns
		defer func() {
			if p := recover(); p != nil {
				l.logPanic(p)
			}
			l.post(func() { l.opened(o) }) // also when the lane is leaving, because leave waits for opened
		}()
		o = l.launch(l.manager.ctx, id, unopened, exists)
	})
}

// An opening is the result of starting a session.
type opening struct {
	session   core.Session
	launch    core.Launch
	cost      float64
	saveError error // failure to save the session id
	err       error
}

// launch saves the session's id and starts the session. The ledger decides between beginning
// and resuming, unless the session is unopened or known to exist. launch blocks until the
// host answers.
func (l *lane) launch(ctx context.Context, id string, unopened, exists bool) opening {
	o := opening{launch: core.Launch{SessionID: id, Settings: l.manager.ChannelSettings.Settings(l.key)}}
	saved := make(chan error, 1)
	go func() { saved <- l.saveSession(id) }() // ends with the write; launch waits below
	if !unopened {
		use, err := l.sessionUse(ctx, id)
		if err != nil {
			o.err = &core.AgentError{Code: core.CodeStorage, Text: "The ledger could not be read", Err: err}
		}
		o.launch.Resume, o.cost = exists || use.Completed || !use.Ours, use.TotalCost
	}
	if o.err == nil {
		o.session, o.err = l.manager.o.Agent.Start(ctx, l.key, o.launch)
	}
	o.saveError = <-saved
	return o
}

// sessionUse reads how a session was used. The ledger completes earlier writes before
// reading, so sessionUse waits while the disk is full, until ctx ends.
func (l *lane) sessionUse(ctx context.Context, id string) (core.SessionUse, error) {
	for pause := firstSaveRetry; ; pause = min(2*pause, saveRetry) {
		use, err := l.manager.o.Ledger.SessionUse(ctx, id)
		if !errors.Is(err, core.ErrStorageFull) {
			return use, err
		}
		l.log.Error("session not started yet", "err", err, "retry_in", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return use, err
		}
	}
}

// saveSession makes the session id durable, if the agent can resume sessions at all.
func (l *lane) saveSession(id string) error {
	if old, ok := l.manager.o.Sessions.Get(l.key); ok && old == id || !l.manager.o.Agent.Lasting() {
		return nil
	}
	return l.manager.o.Sessions.Set(l.key, id)
}

func (l *lane) opened(o opening) {
	l.opening = false
	switch {
	case l.detachIfLeaving(o.session):
		return
	case o.err != nil:
		l.startFailed(o.err)
		return
	}
	l.adopt(o.session)
	l.cost.launch(o.launch.SessionID, o.cost)
	l.log.Info("session started", "session", o.launch.SessionID, "resume", o.launch.Resume, "host_pid", l.session.info.HostPID)
	if o.saveError != nil {
		l.log.Error("session id not saved", "err", o.saveError)
		l.notice(core.Notice{Code: "session_not_saved", Text: "The session id could not be saved (" + o.saveError.Error() +
			"): this conversation may not be found again after a restart."})
	}
	l.handAll()
}

// adopt makes s the lane's session.
func (l *lane) adopt(s core.Session) {
	l.session = newAgentSession(s)
	l.exit, l.unattributedResult = nil, nil
	l.publishedUpTo = l.manager.Feeds.PublishedUpTo(l.key, l.session.host())
	l.gauge.sessions.Store(1)
}

// detachIfLeaving reports whether the lane is leaving, and then detaches from session s.
func (l *lane) detachIfLeaving(s core.Session) bool {
	if l.manager.ctx.Err() == nil {
		return false
	}
	if s != nil {
		s.Detach()
	}
	return true
}

// startFailed ends every turn waiting for the session.
func (l *lane) startFailed(err error) {
	l.log.Error("session not started", "err", err)
	reply := failure(err)
	for _, f := range append([]*inflight(nil), l.inflight...) {
		switch {
		case f.answered:
		case f.stop != nil && !f.frozen: // freezeDone handles the stop
		case !f.frozen:
			f.stop = &stop{code: reply.Code, text: reply.Error, failed: true}
		default:
			l.finish(f, reply)
			l.release(f)
		}
	}
}

// notice adds a notice to the next reply.
func (l *lane) notice(n core.Notice) {
	if f := l.running(); f != nil {
		f.turn.Notices = append(f.turn.Notices, n)
		return
	}
	l.notices = append(l.notices, n)
}

// startFreshSession replaces the session id with a new id, because the old session cannot be
// resumed. Turns in flight change to the new session at the handover.
func (l *lane) startFreshSession() {
	old := l.sessionID
	l.sessionID, l.unopened = uuid.NewString(), true
	l.log.Warn("session lost, starting afresh", "old_session", old, "new_session", l.sessionID)
	l.notice(core.Notice{Code: "fresh_session", Text: "The earlier conversation could not be resumed, so this is a fresh session."})
	l.publish(core.Update{Kind: core.UpdateSession, Detail: "The earlier conversation could not be resumed; a fresh session begins."})
}

// failure returns the reply for an agent that failed to start.
func failure(err error) core.Reply {
	r := core.Reply{State: core.Failed, IsError: true, Code: core.CodeAgentFailed, Error: err.Error()}
	if agent := (*core.AgentError)(nil); errors.As(err, &agent) {
		r.Code = agent.Code
	}
	r.Text = r.Error
	return r
}
