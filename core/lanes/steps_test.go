package lanes

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"bareclaw/core"
	"bareclaw/core/settings"
	"bareclaw/core/spending"
)

// userSteps are what users request. err=name names the error that is expected.
var userSteps = map[string]func(*scene, context.Context, step) error{
	"cancel": func(s *scene, ctx context.Context, p step) error {
		_, err := s.m.Cancel(ctx, s.id(p.word(1)))
		return err
	},
	"await": func(s *scene, ctx context.Context, p step) error { // the outcome, or a park
		_, err := s.m.Lookup.WaitOrPark(ctx, s.id(p.word(1)))
		return err
	},
	"amend": func(s *scene, ctx context.Context, p step) error {
		return s.m.Amend(ctx, s.id(p.word(1)), core.Content{Text: p.word(2)})
	},
	"first": func(s *scene, ctx context.Context, p step) error { return s.m.RunNow(ctx, s.id(p.word(1))) },
	"reset": func(s *scene, ctx context.Context, p step) error { return s.m.Reset(ctx, s.channel(p)) },
	"remove": func(s *scene, ctx context.Context, p step) error { // remove [kept=1]: messages that stay
		gone, err := s.m.Remove(ctx, s.channel(p))
		if want, ok := p.values["kept"]; ok {
			s.wantSame("messages kept", gone.Kept, want)
		}
		return err
	},
	"interrupt": func(s *scene, ctx context.Context, p step) error { // interrupt [one]
		turn := core.TurnID("")
		if p.word(1) != "" {
			turn = s.message(p.word(1)).Turn
		}
		hit, err := s.m.Interrupt(ctx, s.channel(p), turn)
		if want, ok := p.values["took"]; ok {
			s.wantSame("time taken", hit.Took, s.duration(want))
		}
		return err
	},
	"decide": func(s *scene, ctx context.Context, p step) error { // decide r1 allow|deny [always] [remember] [message=text]
		d := core.Decision{Allow: p.has("allow"), Always: p.has("always"), Remember: p.has("remember"), Message: p.values["message"], By: p.values["by"]}
		_, err := s.m.Decider.Decide(ctx, s.approvalOf(p.word(1)).ID, d)
		return err
	},
	"retry": func(s *scene, ctx context.Context, p step) error { // retry one again: the message is called "again"
		r, _, err := s.m.Decider.Resubmission(ctx, s.id(p.word(1)))
		if err == nil {
			sent := &sending{channel: r.Channel}
			sent.ticket, err = s.m.Submit(ctx, r)
			sent.over.Store(true)
			s.sent[p.word(2)] = sent
		}
		return err
	},
	"set": func(s *scene, ctx context.Context, p step) error { // set model=m mode=m
		model, mode := p.values["model"], p.values["mode"]
		return s.m.ChannelSettings.ChangeSettings(ctx, "c", settings.Choice{Model: &model, PermissionMode: &mode})
	},
	"rule": func(s *scene, ctx context.Context, p step) error {
		_, err := addRule(ctx, s.m, "c", p.word(1), "ann")
		return err
	},
}

func (s *scene) send(name string, p step) {
	sub := core.Submission{
		Channel: s.channel(p), Adapter: cmp.Or(p.values["by"], "test"), Content: core.Content{Text: name},
		Origin: core.Origin{User: p.values["user"]}, CanAsk: p.has("ask"), Deliver: p.has("deliver"), SourceKey: p.values["key"], SourceHash: p.values["hash"],
	}
	if text, ok := p.values["text"]; ok {
		sub.Content.Text = text
	}
	for _, mode := range []core.Mode{core.Steer, core.Interrupt, core.Join} {
		if p.has(string(mode)) {
			sub.Mode = mode
		}
	}
	sent := &sending{channel: sub.Channel}
	s.sent[name] = sent
	go func() {
		if p.has("wait") {
			sent.ticket, sent.err = s.m.SubmitAndWait(context.Background(), sub, nil)
		} else {
			sent.ticket, sent.err = s.m.Submit(context.Background(), sub)
		}
		sent.over.Store(true)
	}()
	synctest.Wait()
}

// approvalOf returns the newest approval of an agent's request, or of the question "continue".
func (s *scene) approvalOf(request string) (found core.Approval) {
	s.t.Helper()
	if _, err := s.ledger.PendingApprovals(s.t.Context()); err != nil { // waits until all is written
		s.t.Fatal(err)
	}
	s.ledger.mu.Lock()
	ids := slices.Clone(s.ledger.asked)
	s.ledger.mu.Unlock()
	for _, id := range ids {
		a, err := s.ledger.Approval(s.t.Context(), id)
		if err != nil {
			s.t.Fatal(err)
		}
		if a.RequestID == request || a.Kind == core.ApprovalContinue && request == "continue" {
			found = a
		}
	}
	return found
}

// agentSteps are what the agent does, on the channel of a message or on channel in=c.
var agentSteps = map[string]func(*scene, step){
	"begin": func(s *scene, p step) {
		h, ids := s.turns(p.word(1))
		for _, id := range ids {
			h.begin(id)
		}
	},
	"tool": func(s *scene, p step) { // tool one [Bash] [call=id] [for=10m]: the agent calls a tool, for Bash with a timeout
		h, id := s.turn(p.word(1))
		if p.values["call"] == "" {
			h.tool(id)
			return
		}
		d, _ := time.ParseDuration(p.values["for"])
		h.bash(id, p.values["call"], d)
	},
	"announce": func(s *scene, p step) { // an event shows a tool that the record does not
		s.agentOf(p).say(core.Event{Kind: core.ToolBegun, Tool: "Bash", Target: "make"})
	},
	"tooled": func(s *scene, p step) { s.agentOf(p).say(core.Event{Kind: core.ToolEnded, ToolID: p.word(1)}) },
	"done": func(s *scene, p step) {
		h, ids := s.turns(p.word(1))
		h.done(ids...)
	},
	"result": func(s *scene, p step) { s.result(p) }, // result one,two text [error=code] [total=2] [cost=1]
	"finish": func(s *scene, p step) { // result and done
		h, ids := s.result(p)
		h.done(ids...)
	},
	"answer": func(s *scene, p step) { // begin, result and done
		h, ids := s.turns(p.word(1))
		for _, id := range ids {
			if !h.hasBegun(id) {
				h.begin(id)
			}
		}
		s.result(p)
		h.done(ids...)
	},
	"abort": func(s *scene, p step) {
		h, ids := s.turns(p.word(1))
		h.results(core.Result{Turns: ids, IsError: true, Interrupted: true, Error: "aborted", SessionID: h.launch.SessionID})
		h.done(ids...)
	},
	"fail": func(s *scene, p step) { // fail one code [until=1h]: begin if needed, an error and done
		h, ids := s.turns(p.word(1))
		for _, id := range ids {
			if !h.hasBegun(id) {
				h.begin(id)
			}
		}
		p.values["error"] = p.word(2)
		s.result(p)
		h.done(ids...)
	},
	"pays": func(s *scene, p step) { // pays one,two text total [cost=1] [session=id]: an answer after which the session has cost the total
		h, ids := s.turns(p.word(1))
		for _, id := range ids {
			if !h.hasBegun(id) {
				h.begin(id)
			}
		}
		p.values["total"] = p.word(3)
		s.result(p)
		h.done(ids...)
	},
	"background": func(s *scene, p step) { // background text [error=code] [total=2] [cost=1]
		r := core.Result{Background: true, Text: p.word(1), TotalCost: s.number(p.values["total"]), Cost: s.number(p.values["cost"])}
		if code := p.values["error"]; code != "" {
			r.IsError, r.Code, r.Error, r.Text = true, code, p.word(1), ""
		}
		s.agentOf(p).results(r)
	},
	"wake": func(s *scene, p step) { // wake [by]: the agent begins a turn that nobody asked for
		s.agentOf(p).say(core.Event{Kind: core.OwnTurn, Type: "system", Detail: p.word(1)})
	},
	"warn": func(s *scene, p step) {
		s.agentOf(p).say(core.Event{Kind: core.Warned, Type: "system", Detail: p.word(1)})
	},
	"stray": func(s *scene, p step) { // stray text [error=code]: a result without a turn
		r := core.Result{Text: p.word(1), TotalCost: s.number(p.values["total"]), Cost: s.number(p.values["cost"])}
		if code := p.values["error"]; code != "" {
			r.IsError, r.Code, r.Error, r.Text = true, code, p.word(1), ""
			r.Interrupted = code == core.CodeInterrupted
		}
		s.agentOf(p).results(r)
	},
	"ask": func(s *scene, p step) { s.agentOf(p).ask(p.word(1), cmp.Or(p.word(2), "Bash")) },
	"withdraw": func(s *scene, p step) {
		h := s.agentOf(p)
		h.a.mu.Lock()
		h.requests = slices.DeleteFunc(h.requests, func(r core.Request) bool { return r.ID == p.word(1) })
		h.sayLocked(core.Event{Kind: core.RequestGone, Request: &core.Request{ID: p.word(1)}})
		h.a.mu.Unlock()
	},
	"tasks":   func(s *scene, p step) { s.agentOf(p).runs(int(s.number(p.word(1)))) },
	"http":    func(s *scene, p step) { s.agentOf(p).retries(int(s.number(p.word(1)))) }, // a call of the API fails
	"limited": func(s *scene, p step) { s.agentOf(p).say(core.Event{Kind: core.Limited, Until: s.moment(p.word(1))}) },
	"say": func(s *scene, p step) { // say [text] [times=100] [type=assistant]
		ev := core.Event{Kind: core.Said, Type: p.values["type"]}
		if p.word(1) != "" {
			ev.Raw = line(p.word(1))
		}
		for range max(1, int(s.number(p.values["times"]))) {
			s.agentOf(p).say(ev)
		}
	},
	"full": func(s *scene, p step) { s.agentOf(p).say(core.Event{Kind: core.LogFull, Detail: p.word(1)}) },
	"clear": func(s *scene, p step) { // the conversation continues under a new id
		s.agentOf(p).say(core.Event{Kind: core.SessionNew, SessionID: p.word(1)})
	},
	"ready": func(s *scene, p step) { s.agentOf(p).becomeReady() },
	"deaf":  func(s *scene, p step) { s.agentOf(p).deafen() },
	"die":   func(s *scene, p step) { s.agentOf(p).die() },
	"cut":   func(s *scene, p step) { s.agentOf(p).cut() },
	"exit": func(s *scene, p step) { // exit text [unknown_session|session_in_use|start_failed]
		reasons := map[string]core.ExitReason{"unknown_session": core.ExitUnknownSession, "session_in_use": core.ExitSessionInUse, "start_failed": core.ExitStartFailed}
		s.agentOf(p).exit(core.Exit{Reason: reasons[p.word(2)], Code: "agent_exit", Text: p.word(1)})
	},
	"record": func(s *scene, p step) { // record one [begun] [tool] [interrupted] [answered=text] [failed=code] [done=text] [into=two]
		_, id := s.turn(p.word(1))
		fate := core.Fate{Begun: len(p.words)+len(p.values) > 2, ToolBegun: p.has("tool"), Interrupted: p.has("interrupted"), Done: p.values["done"]}
		fate.Text, fate.Answered = p.values["answered"], p.values["answered"] != ""
		if code := p.values["failed"]; code != "" {
			fate.Failed, fate.Code, fate.Text = true, code, code
		}
		if into := p.values["into"]; into != "" {
			_, fate.Into = s.turn(into)
		}
		s.agent.fate(id, func(f *core.Fate) { *f = fate })
	},
	"acks": func(s *scene, p step) { s.agentOf(p).loseAcks(p.has("lost")) }, // acks lost|kept
	"ack":  func(s *scene, p step) { s.agentOf(p).acknowledge() },
	"forget": func(s *scene, _ step) { // no session can be resumed
		s.agent.mu.Lock()
		clear(s.agent.known)
		s.agent.mu.Unlock()
	},
}

func (s *scene) agentOf(p step) *fakeHost {
	s.t.Helper()
	return s.hostOf(s.channel(p))
}

func (s *scene) result(p step) (*fakeHost, []core.TurnID) {
	s.t.Helper()
	h, ids := s.turns(p.word(1))
	r := core.Result{
		Turns: ids, Text: p.word(2), SessionID: cmp.Or(p.values["session"], h.launch.SessionID),
		TotalCost: s.number(p.values["total"]), Cost: s.number(p.values["cost"]), Until: s.moment(p.values["until"]), Refused: p.values["refused"],
	}
	if code := p.values["error"]; code != "" {
		r.IsError, r.Code, r.Error, r.Text = true, code, cmp.Or(p.word(3), code), ""
	}
	h.results(r)
	return h, ids
}

// moment returns the time after a duration, or the next midnight.
func (s *scene) moment(text string) time.Time {
	s.t.Helper()
	switch text {
	case "":
		return time.Time{}
	case "midnight":
		return spending.NextDay(time.Now())
	}
	return time.Now().Add(s.duration(text))
}

// worldSteps are what happens to the gateway, to the ledger and to the programs of the agent.
var worldSteps = map[string]func(*scene, step){
	"send": func(s *scene, p step) { // send one two [steer|interrupt] [ask] [deliver] [wait] [in=c] [by=adapter] [key=k] [hash=h]
		for _, name := range p.words[1:] {
			if !slices.Contains([]string{"steer", "interrupt", "join", "ask", "deliver", "wait"}, name) {
				s.send(name, p)
			}
		}
	},
	"wait":    func(s *scene, p step) { s.after(s.wait(p.word(1))) },
	"clock":   func(s *scene, p step) { s.offset.Store(int64(s.duration(p.word(1)))) }, // the wall clock jumps
	"restart": func(s *scene, _ step) { s.restart() },
	"crash":   func(s *scene, _ step) { s.crash(); s.ledger.release() },
	"start":   func(s *scene, _ step) { s.start() },
	"detach":  func(s *scene, _ step) { s.detach() },
	"leave":   func(s *scene, _ step) { go s.m.Detach() },
	"shutdown": func(s *scene, _ step) {
		if err := s.m.Shutdown(s.t.Context()); err != nil {
			s.t.Error(err)
		}
	},
	"option":  func(s *scene, p step) { s.eachValue(p, func(n, v string) { setOption(s.t, &s.o, n, v) }) }, // of the next life
	"down":    func(s *scene, p step) { s.ledger.setDown(named[p.word(1)]) },
	"up":      func(s *scene, _ step) { s.ledger.setDown(nil); s.ledger.forget() },
	"hold":    func(s *scene, _ step) { s.ledger.hold() },
	"step":    func(s *scene, p step) { s.ledger.step(int(s.number(p.word(1)))) },
	"release": func(s *scene, _ step) { s.ledger.release() },
	"slow":    func(s *scene, p step) { s.ledger.slow(s.duration(p.word(1))) },
	"unheard": func(s *scene, _ step) { s.ledger.setUnheard(true) },
	"heard":   func(s *scene, _ step) { s.ledger.setUnheard(false) },
	"refuse": func(s *scene, p step) { // refuse accept|begin|settle|requeue|update|approval storage [n]
		match := map[string]func(core.Change) bool{
			"accept": accepts, "begin": begins, "settle": settles, "requeue": func(c core.Change) bool { return len(c.Requeue) > 0 },
			"update":   func(c core.Change) bool { return len(c.Update) > 0 },
			"approval": func(c core.Change) bool { return len(c.Approvals) > 0 },
		}
		s.ledger.fail(named[p.word(2)], max(1, int(s.number(p.word(3)))), match[p.word(1)])
	},
	"unreadable": func(s *scene, p step) { s.ledger.setUnreadable(named[p.word(1)]) },
	"block":      func(s *scene, p step) { s.unblock[p.word(1)] = s.agent.block(p.word(1)) },
	"unblock":    func(s *scene, p step) { s.unblock[p.word(1)]() },
	"missing": func(s *scene, p step) { // missing [wait="why a later start may succeed"]
		s.setAgent(func() {
			s.agent.startErr = &core.AgentError{Code: "agent_missing", Text: "Claude Code was not found.", Wait: p.values["wait"]}
		})
	},
	"found":    func(s *scene, _ step) { s.setAgent(func() { s.agent.startErr = nil }) },
	"records":  func(s *scene, p step) { s.setAgent(func() { s.agent.fateErr = unless(p.has("readable")) }) },
	"attached": func(s *scene, p step) { s.setAgent(func() { s.agent.attachErr = unless(p.has("possible")) }) },
	"sessions": func(s *scene, p step) { s.sessions.err = unless(p.has("saved")) },
	"saving":   func(s *scene, p step) { s.sessions.pause = []time.Duration{s.duration(p.word(1))} },
	"lax":      func(s *scene, _ step) { s.agent.lax = true },
	"spare":    func(s *scene, p step) { s.agent.spares = p.words[1:] },
	"fleeting": func(s *scene, _ step) { s.agent.fleeting = true },
	"panic":    func(s *scene, p step) { s.setAgent(func() { s.agent.panicIn = p.word(1) }) },
	"refuses":  func(s *scene, p step) { s.agent.refuses = p.word(1) },
	"script": func(s *scene, p step) { // what each new process does: refuses, late, answers or begins
		script := map[string]func(*fakeHost){
			"refuses": func(h *fakeHost) {
				reason := core.ExitSessionInUse
				if h.launch.Resume {
					reason = core.ExitUnknownSession
				}
				h.exit(core.Exit{Reason: reason, Code: "agent_exit", Text: "No."})
			},
			"late": func(h *fakeHost) {
				h.exit(core.Exit{Reason: core.ExitStartFailed, Code: "agent_timeout", Text: "Claude did not start."})
			},
			"broken": func(h *fakeHost) {
				h.exit(core.Exit{Reason: core.ExitStartFailed, Code: "agent_start", Text: "Claude ended while starting.", Wait: "Claude is being updated."})
			},
			"begins":  func(h *fakeHost) { h.begin(<-h.turn) },
			"answers": answers,
		}[p.word(1)]
		s.setAgent(func() { s.agent.script = script })
	},
	"known":  func(s *scene, p step) { s.setAgent(func() { s.agent.known[p.word(1)] = true }) },         // a session that can be resumed
	"hasnot": func(s *scene, p step) { s.setAgent(func() { s.agent.hosts[s.channel(p)].turns = nil }) }, // the host knows no turn
	"stale":  func(s *scene, p step) { s.setAgent(func() { s.agent.hosts[s.channel(p)].outdated = true }) },
}

// answers has an agent answer every turn.
func answers(h *fakeHost) {
	for {
		select {
		case id := <-h.turn:
			h.answer(id, "ok")
		case <-h.stop:
			return
		}
	}
}

func (s *scene) setAgent(change func()) {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	change()
}

func (s *scene) eachValue(p step, f func(name, value string)) {
	for name, value := range p.values {
		f(name, value)
	}
}

func (s *scene) wait(text string) time.Duration {
	if less, ok := strings.CutPrefix(text, "midnight-"); ok {
		return time.Until(s.moment("midnight")) - s.duration(less)
	}
	return s.duration(text)
}

func unless(ok bool) error {
	if ok {
		return nil
	}
	return errCut
}
