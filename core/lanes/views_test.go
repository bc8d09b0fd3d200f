package lanes

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"bareclaw/core"
)

// viewSteps are what is to be seen.
var viewSteps = map[string]func(*scene, step){
	"turns": func(s *scene, p step) { // turns one two,three: all that was handed to the present process
		var got []string
		for _, text := range s.handedTexts(s.agentOf(p)) {
			got = append(got, strings.ReplaceAll(text, "\n\n", ","))
		}
		s.wantSame("list of turns", fmt.Sprintf("%q", got), fmt.Sprintf("%q", p.words[1:]))
	},
	"told": func(s *scene, p step) { // told stalled text [times=1|last] [of=one,two]
		var got []core.Update
		for _, u := range drain(s.sub) {
			if string(u.Kind) == p.word(1) {
				got = append(got, u)
			}
		}
		if p.has("last") {
			got = got[max(0, len(got)-1):]
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
	"unwatch": func(s *scene, _ step) { s.sub.Close() },
	"rewatch": func(s *scene, p step) { // resumes the stream after the last update seen, or after none
		after := s.last
		if p.has("all") {
			after = s.sub.From()
		}
		s.sub = s.m.Feeds.Resume(s.channel(p), after.String())
		s.t.Cleanup(s.sub.Close)
	},
	"streamed": func(s *scene, p step) { // streamed one:started one:hello two:line: each update, with its turn
		var got []string
		for _, u := range drain(s.sub) {
			word := string(u.Kind)
			if says := regexp.MustCompile(`"say": "(.*)"`).FindSubmatch(u.Raw); says != nil {
				word = string(says[1])
			} else if u.Kind == core.UpdateEvent {
				word = "line"
			}
			for name := range s.sent {
				if u.Turn != "" && s.newestTurn(name) == u.Turn {
					word = name + ":" + word
				}
			}
			got = append(got, word)
		}
		s.wantSame("stream", got, p.words[1:])
	},
	"updates": func(s *scene, p step) { // updates accepted started …: all that was told since
		var got []string
		for _, u := range drain(s.sub) {
			got, s.last = append(got, string(u.Kind)), u.ID
			if u.Message != nil {
				s.wantSame("content", u.Message.Content, core.Content{})
			}
		}
		s.wantSame("list of updates", got, p.words[1:])
		s.wantSame("gap", s.sub.Gap(), false)
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
	"busy":  func(s *scene, _ step) { s.wantSame("request over", s.ops[len(s.ops)-1].over.Load(), false) },
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
		s.wantIn("newest turn", strings.ReplaceAll(all[len(all)-1], "\n\n", ","), p.word(1))
	},
	"stats": func(s *scene, p step) {
		st := s.m.Directory.Stats()
		o, err := s.m.Directory.Overview(s.t.Context())
		running, waiting := 0, 0
		for _, c := range o.Active {
			waiting += c.Waiting
			if c.Turn != "" {
				running++
			}
		}
		s.wantSame("overview", err, nil)
		for what, want := range p.values {
			s.wantSame(what, map[string]int64{
				"resent": st.Resent.Load(), "refused": st.QueueRefused.Load(), "stalled": st.Stalled.Load(),
				"turns": st.Turns.Load(), "parked": st.Parked.Load(), "lanes": int64(s.m.Directory.Lanes()), "sessions": int64(o.Hosts), "running": int64(running), "waiting": int64(waiting),
			}[what], want)
		}
	},
	"once": func(s *scene, _ step) { // no turn has run twice
		for id, n := range s.agent.runs {
			s.wantSame("number of runs of "+string(id), n, 1)
		}
	},
	"decided": func(s *scene, p step) { // decided continue again: the message that continues the turn is called "again"
		sent := &sending{channel: "c"}
		sent.ticket, _ = s.m.Lookup.Ticket(s.t.Context(), s.approvalOf(p.word(1)).Retry)
		sent.over.Store(true)
		s.sent[p.word(2)] = sent
	},
	"rules": func(s *scene, p step) {
		s.wantSame("number of rules", len(s.m.ChannelSettings.Settings("c").Rules), p.word(1))
	},
	"accounted": (*scene).accounted, // accounted [answered]: each message that was accepted is on record, and no other
	"marked":    func(s *scene, p step) { s.wantSame("marked", s.marked(s.id(p.word(1)), p.word(2)), true) },
	"marks": func(s *scene, p step) { // marks one handed started …: the timeline of the turn
		trace, err := s.m.Lookup.Trace(s.t.Context(), s.id(p.word(1)))
		if err != nil {
			s.t.Fatal(err)
		}
		var got []string
		for _, m := range trace.Turn.Marks {
			got = append(got, m.What)
		}
		s.wantSame("timeline", got, p.words[2:])
	},
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
