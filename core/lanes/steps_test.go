package lanes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	"bareclaw/core"
	"bareclaw/core/spending"
)

// userSteps are what users request. err=name names the error that is expected.
var userSteps = map[string]func(*scene, context.Context, step) error{
	"cancel": func(s *scene, ctx context.Context, p step) error {
		_, err := s.m.Cancel(ctx, s.id(p.word(1)))
		return err
	},
	"amend": func(s *scene, ctx context.Context, p step) error {
		return s.m.Amend(ctx, s.id(p.word(1)), core.Content{Text: p.word(2)})
	},
	"first": func(s *scene, ctx context.Context, p step) error { return s.m.RunNow(ctx, s.id(p.word(1))) },
	"reset": func(s *scene, ctx context.Context, p step) error { return s.m.Reset(ctx, s.channel(p)) },
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
		return s.m.ChannelSettings.ChangeSettings(ctx, "c", &model, &mode)
	},
	"rule": func(s *scene, ctx context.Context, p step) error {
		_, err := addRule(ctx, s.m, "c", p.word(1), "ann")
		return err
	},
}

func (s *scene) send(name string, p step) {
	sub := core.Submission{
		Channel: s.channel(p), Adapter: cmp.Or(p.values["by"], "test"), Content: core.Content{Text: cmp.Or(p.values["text"], name)},
		CanAsk: p.has("ask"), Deliver: p.has("deliver"), SourceKey: p.values["key"], SourceHash: p.values["hash"],
	}
	for _, mode := range []core.Mode{core.Steer, core.Interrupt} {
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
	"stray": func(s *scene, p step) { // stray text [error=code]: a result without a turn
		r := core.Result{Text: p.word(1)}
		if code := p.values["error"]; code != "" {
			r = core.Result{IsError: true, Code: code, Error: p.word(1)}
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
		TotalCost: s.number(p.values["total"]), Cost: s.number(p.values["cost"]), Until: s.moment(p.values["until"]),
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
			if !slices.Contains([]string{"steer", "interrupt", "ask", "deliver", "wait"}, name) {
				s.send(name, p)
			}
		}
	},
	"wait":    func(s *scene, p step) { s.after(s.wait(p.word(1))) },
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
	"refuse": func(s *scene, p step) { // refuse accept|begin|settle|requeue|approval storage [n]
		match := map[string]func(core.Change) bool{
			"accept": accepts, "begin": begins, "settle": settles, "requeue": func(c core.Change) bool { return len(c.Requeue) > 0 },
			"approval": func(c core.Change) bool { return len(c.Approvals) > 0 },
		}
		s.ledger.fail(named[p.word(2)], max(1, int(s.number(p.word(3)))), match[p.word(1)])
	},
	"unreadable": func(s *scene, p step) { s.ledger.setUnreadable(named[p.word(1)]) },
	"block":      func(s *scene, p step) { s.unblock[p.word(1)] = s.agent.block(p.word(1)) },
	"unblock":    func(s *scene, p step) { s.unblock[p.word(1)]() },
	"missing": func(s *scene, _ step) {
		s.agent.startErr = &core.AgentError{Code: "agent_missing", Text: "Claude Code was not found."}
	},
	"found":    func(s *scene, _ step) { s.agent.startErr = nil },
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
		s.agent.script = map[string]func(*fakeHost){
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
			"begins":  func(h *fakeHost) { h.begin(<-h.turn) },
			"answers": answers,
		}[p.word(1)]
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

// viewSteps are what is to be seen.
var viewSteps = map[string]func(*scene, step){
	"turns": func(s *scene, p step) { // turns one two,three: all that was handed to the present process
		var got []string
		for _, text := range s.handedTexts(s.agentOf(p)) {
			got = append(got, strings.ReplaceAll(text, "\n\n", ","))
		}
		s.wantSame("list of turns", fmt.Sprintf("%q", got), fmt.Sprintf("%q", p.words[1:]))
	},
	"told": func(s *scene, p step) { // told stalled text [times=1] [of=one,two]
		var got []core.Update
		for _, u := range drain(s.sub) {
			if string(u.Kind) == p.word(1) {
				got = append(got, u)
			}
		}
		times := 1
		if n, ok := p.values["times"]; ok {
			times = int(s.number(n))
		}
		if len(got) != times {
			s.t.Fatalf("%s: told %+v", p.text, got)
		}
		for _, u := range got {
			s.wantIn("detail", u.Detail, p.word(2))
			if names := p.values["of"]; names != "" {
				var ids []core.MessageID
				for name := range strings.SplitSeq(names, ",") {
					ids = append(ids, s.id(name))
				}
				s.wantSame("list of messages", u.Messages, ids)
			}
		}
	},
	"watch": func(s *scene, p step) {
		s.sub = s.m.Feeds.Subscribe(s.channel(p))
		s.t.Cleanup(s.sub.Close)
	},
	"updates": func(s *scene, p step) { // updates accepted started …: all that was told since
		var got []string
		for _, u := range drain(s.sub) {
			got = append(got, string(u.Kind))
		}
		s.wantSame("list of updates", got, p.words[1:])
	},
	"interrupted": func(s *scene, p step) { // interrupted 2 [process]
		h := s.agent.all[len(s.agent.all)-1]
		if n := p.word(2); n != "" {
			h = s.agent.all[int(s.number(n))-1]
		}
		s.wantSame("interrupts", h.interrupted(), p.word(1))
	},
	"process": func(s *scene, p step) { s.process(p) }, // process 2 [resumed|new] [model=m] [mode=m] [session=id|1|not1] [in=c]: the present one
	"alive":   func(s *scene, p step) { s.wantSame("alive", s.agent.all[int(s.number(p.word(1)))-1].alive(), true) },
	"gone":    func(s *scene, p step) { s.wantSame("alive", s.agent.all[int(s.number(p.word(1)))-1].alive(), false) },
	"gently": func(s *scene, p step) {
		s.wantSame("gently", s.agent.all[int(s.number(p.word(1)))-1].gentle(), !p.has("not"))
	},
	"live":  func(s *scene, p step) { s.wantSame("number of processes", s.live(), p.word(1)) },
	"runs":  func(s *scene, p step) { s.wantSame("runs", s.agent.runs[s.message(p.word(1)).Turn], p.word(2)) },
	"works": func(s *scene, _ step) { s.works() },
	"over":  func(s *scene, _ step) { s.finished() },
	"busy":  func(s *scene, _ step) { s.wantSame("request over", s.ops[len(s.ops)-1].over, false) },
	"pending": func(s *scene, p step) { // pending r1 r2: the approvals that wait
		var got []string
		for _, a := range s.pendingApprovals() {
			got = append(got, cmp.Or(a.RequestID, string(a.Kind)))
		}
		s.wantSame("list of approvals", got, p.words[1:])
	},
	"approval": func(s *scene, p step) { // approval r1 denied [retry=one]
		a := s.approvalOf(p.word(1))
		s.wantSame("state", a.State, p.word(2))
		if name := p.values["retry"]; name != "" {
			s.wantSame("retry", a.Retry, s.id(name))
		}
		if by, ok := p.values["by"]; ok {
			s.wantSame("person", a.DecidedBy, by)
		}
	},
	"reply": func(s *scene, p step) { // reply r1 allow|deny|none [text]: what the agent was answered
		answer, ok := s.agentOf(p).answered(p.word(1))
		s.wantSame("answered", ok, !p.has("none"))
		s.wantSame("allowed", answer.Allow, p.has("allow"))
		s.wantIn("answer", answer.Message+string(answer.Rules), p.word(3))
	},
	"deliver": func(s *scene, p step) { // deliver chat reply:one approval:r1: what waits to be delivered
		ds, err := s.m.Adapters.PendingDeliveries(s.t.Context(), p.word(1))
		if err != nil {
			s.t.Error(err)
		}
		var got, want []string
		for _, d := range ds {
			got = append(got, d.ID)
		}
		for _, id := range p.words[2:] {
			kind, name, _ := strings.Cut(id, ":")
			if kind == "reply" {
				want = append(want, core.ReplyDelivery(s.id(name)))
			} else {
				want = append(want, kind+":"+s.approvalOf(name).ID)
			}
		}
		s.wantSame("list of deliveries", got, want)
	},
	"delivered": func(s *scene, p step) { // delivered chat 1 text: background results that wait to be delivered
		ds, err := s.m.Adapters.PendingDeliveries(s.t.Context(), p.word(1))
		if err != nil || fmt.Sprint(len(ds)) != p.word(2) {
			s.t.Fatalf("%s: %+v, %v", p.text, ds, err)
		}
		for _, d := range ds {
			s.wantIn("delivery", string(d.Kind)+" "+string(d.Body), "background")
			s.wantIn("delivery", string(d.Body), `"text":"`+p.word(3)+`"`)
			s.wantIn("delivery", string(d.Body), p.word(4))
		}
	},
	"spent":    func(s *scene, p step) { s.wantSpent(s.number(p.word(1))) },
	"state":    func(s *scene, p step) { s.state(p) },
	"queue":    func(s *scene, p step) { s.wantSame("queue", s.queue(), p.words[1:]) },
	"kept":     func(s *scene, p step) { s.kept(p) },                                                         // kept some|none|one|few|end|noend: events without an acknowledgement
	"tickets":  func(s *scene, p step) { s.wantSame("number of tickets", len(s.m.tickets.open), p.word(1)) }, // of messages without an outcome
	"saved":    func(s *scene, p step) { s.wantSame("session ids", len(s.sessions.All()), p.word(1)) },
	"log":      func(s *scene, p step) { s.wantIn("log", s.world.log.String(), p.word(1)) },
	"unlogged": func(s *scene, p step) { s.wantSame("logged", strings.Contains(s.world.log.String(), p.word(1)), false) },
	"position": func(s *scene, p step) { // position one 2: of a waiting message, with the reason that the channel gives
		trace, err := s.m.Lookup.Trace(s.t.Context(), s.id(p.word(1)))
		st, stErr := s.m.Directory.Channel(s.t.Context(), s.channel(p))
		if err != nil || stErr != nil || fmt.Sprint(trace.Position) != p.word(2) || trace.Why != st.Why {
			s.t.Errorf("%s: %+v, %v", p.text, trace, err)
		}
	},
	"backgrounds": func(s *scene, p step) { // newest first; ! is an error
		all, err := s.m.Lookup.Backgrounds(s.t.Context(), "c", 10)
		var got []string
		for _, b := range all {
			if b.IsError {
				b.Text += "!"
			}
			got = append(got, b.Text)
		}
		s.wantSame("backgrounds", fmt.Sprintf("%q %v", got, err), fmt.Sprintf("%q <nil>", p.words[1:]))
	},
	"handed": func(s *scene, p step) { // handed text: the newest turn has the text
		all := s.handedTexts(s.agentOf(p))
		s.wantIn("newest turn", all[len(all)-1], p.word(1))
	},
	"stats": func(s *scene, p step) {
		st := s.m.Directory.Stats()
		for what, want := range p.values {
			s.wantSame(what, map[string]int64{
				"resent": st.Resent, "refused": st.QueueRefused, "stalled": st.Stalled, "turns": st.Turns, "parked": st.Parked,
				"lanes": int64(st.Lanes), "sessions": int64(st.Sessions), "running": int64(st.Running), "waiting": int64(st.Waiting),
			}[what], want)
		}
	},
	"once": func(s *scene, _ step) { // no turn has run twice
		for id, n := range s.agent.runs {
			s.wantSame("number of runs of "+string(id), n, 1)
		}
	},
	"rules": func(s *scene, p step) {
		s.wantSame("number of rules", len(s.m.ChannelSettings.Settings("c").Rules), p.word(1))
	},
	"accounted": (*scene).accounted, // accounted [answered]: each message that was accepted is on record, and no other
	"marked":    func(s *scene, p step) { s.wantSame("marked", s.marked(s.id(p.word(1)), p.word(2)), true) },
	"healthy": func(s *scene, _ step) { // at once
		began := time.Now()
		if err := s.aliveWithin(); err != nil || time.Since(began) > 0 {
			s.t.Errorf("alive after %s: %v", time.Since(began), err)
		}
	},
	"recordedin": func(s *scene, p step) { // recordedin one [opens]: the turn is on record for the present process's session
		turn, err := s.ledger.Turn(s.t.Context(), s.message(p.word(1)).Turn)
		session := s.agentOf(p).launch.SessionID
		if err != nil || turn.SessionID != session || turn.Opens != p.has("opens") || !s.sessions.has("c", session) {
			s.t.Errorf("%s: %+v, %v; the session is %s", p.text, turn, err, session)
		}
	},
}

func (s *scene) process(p step) {
	s.t.Helper()
	h := s.agentOf(p)
	if p.word(1) != "-" {
		s.wantSame("number of process", h.pid, p.word(1))
	}
	if p.has("resumed") || p.has("new") {
		s.wantSame("resumed", h.launch.Resume, p.has("resumed"))
	}
	for what, want := range p.values {
		switch what {
		case "model":
			s.wantSame(what, h.launch.Settings.Model, want)
		case "mode":
			s.wantSame(what, h.launch.Settings.PermissionMode, want)
		case "hadmodel", "hadmode":
			s.wantSame(what, map[string]bool{"hadmodel": h.launch.Settings.HadModel, "hadmode": h.launch.Settings.HadPermissionMode}[what], want)
		case "rules":
			s.wantSame(what, len(h.launch.Settings.Rules), want)
		case "session":
			nth, other := strings.CutPrefix(want, "not")
			if n, err := strconv.Atoi(nth); err == nil {
				want = s.agent.all[n-1].launch.SessionID
			}
			s.wantSame("same session", h.launch.SessionID == want, !other)
		}
	}
}

// state checks the status of a channel: state parked [text] [waiting=1] [until=1h] [activity=Bash] [blocked=text]
func (s *scene) state(p step) {
	s.t.Helper()
	st, err := s.m.Directory.Channel(s.t.Context(), s.channel(p))
	if err != nil || st.State != p.word(1) {
		s.t.Errorf("%s: %+v, %v", p.text, st, err)
	}
	s.wantIn("reason", st.Why, p.word(2))
	if p.has("blocked") {
		s.wantSame("reason", st.Why, st.HostBlocked)
	}
	for what, want := range p.values {
		switch what {
		case "waiting", "running", "messages", "process":
			s.wantSame(what, map[string]int{"waiting": st.Waiting, "running": st.Running, "messages": st.Messages, "process": st.HostPID}[what], want)
		case "until":
			if !st.Until.Equal(s.moment(want)) {
				s.t.Errorf("%s: parked until %s", p.text, st.Until)
			}
		case "activity":
			s.wantSame(what, st.Activity, want)
		case "why":
			s.wantSame(what, st.Why, want)
		}
	}
}

func (s *scene) kept(p step) {
	s.t.Helper()
	n := s.agentOf(p).kept()
	s.agent.mu.Lock()
	completed := slices.ContainsFunc(s.agentLog(p), func(ev core.Event) bool { return ev.Phase == core.PhaseCompleted })
	s.agent.mu.Unlock()
	ok := map[string]bool{"some": n > 0, "none": n == 0, "one": n == 1, "few": n <= ackEvery, "end": completed, "noend": !completed}
	if !ok[p.word(1)] {
		s.t.Errorf("%s: %d events are kept", p.text, n)
	}
}

func (s *scene) agentLog(p step) []core.Event { return s.agent.hosts[s.channel(p)].log }

// pendingApprovals returns the approvals that wait for a decision.
func (s *scene) pendingApprovals() []core.Approval {
	s.t.Helper()
	as, err := s.m.Decider.Approvals(s.t.Context())
	if err != nil {
		s.t.Error(errors.Join(err))
	}
	return as
}

func (s *scene) accounted(p step) {
	s.t.Helper()
	kept := 0
	for _, key := range []core.ChannelKey{"c", "d"} {
		all, err := s.ledger.Messages(s.t.Context(), key, 100, "")
		if err != nil {
			s.t.Error(err)
		}
		for _, m := range all {
			if s.sent[m.Prompt.Text] != nil {
				kept++
			}
			if p.has("answered") {
				s.wantSame("state of "+m.Prompt.Text, m.State, core.Answered)
			}
		}
	}
	accepted := 0
	for name, sent := range s.sent {
		s.wantSame("sending "+name+" over", sent.over.Load(), true)
		if sent.err == nil && !sent.ticket.Existing {
			accepted++
		}
	}
	if kept < accepted || kept > accepted && !p.has("answered") {
		s.t.Errorf("%s: %d messages were accepted, %d are on record", p.text, accepted, kept)
	}
}
