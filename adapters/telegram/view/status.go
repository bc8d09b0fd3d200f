package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"bareclaw/core"
	"bareclaw/internal/humanize"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/visible"
)

// A Gateway holds the versions of the gateway and the agent, and the time of the start.
type Gateway struct {
	Version string
	Agent   string
	Began   time.Time
}

// Channel renders the state of a chat's session.
func Channel(st core.ChannelStatus, own core.Settings, used core.Usage, g Gateway) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "**%s**: %s\n", name, fmt.Sprintf(format, args...))
	}
	line("Now", "%s", Activity(st, time.Now()))
	if len(st.Background) > 0 {
		line("In the background", "%s", backgroundTasks(st.Background))
	}
	waiting := "nothing"
	if st.Waiting > 0 {
		waiting = mdtext.Count(st.Waiting, "message", "messages") + ", see /queue"
	}
	line("Waiting", "%s", waiting)
	if st.Approvals > 0 {
		line("Open questions to you", "%d", st.Approvals)
	}
	line("Model", "%s%s", Configured(own.Model), InUse(st))
	line("Mode", "%s", Configured(own.PermissionMode))
	if own.Tools != "" {
		line("Tools", "%s", Configured(own.Tools))
	}
	line("Rules", "%d", len(own.Rules))
	line("This chat", "%s, %s", mdtext.Count(used.Turns, "turn", "turns"), humanize.USD(used.Spent))
	if st.SessionID != "" {
		line("Session", "%s", mdtext.Code(st.SessionID))
	}
	line("Agent", "%s%s", mdtext.Literal(g.Agent), ofVersion(st.Version))
	line("Gateway", "%s, up %s", mdtext.Literal(g.Version), mdtext.Duration(time.Since(g.Began)))
	return b.String()
}

// backgroundTasks names the background tasks of a session.
func backgroundTasks(tasks []string) string {
	var named []string
	for _, t := range tasks {
		named = append(named, cmp.Or(mdtext.Code(mdtext.Brief(t, 80)), "a task"))
	}
	return strings.Join(named, ", ")
}

// ofVersion names the version of the live session's program, which may differ from that of the
// program's file.
func ofVersion(version string) string {
	if version == "" {
		return ""
	}
	return ", version " + mdtext.Literal(version)
}

// Activity describes the activity of a channel.
func Activity(st core.ChannelStatus, now time.Time) string {
	switch st.State {
	case core.StateRunning:
		if st.Why != "" {
			return "waiting. " + mdtext.Literal(st.Why)
		}
		text := "working for " + mdtext.Duration(now.Sub(st.Since))
		if st.Activity != "" {
			text += ", using " + mdtext.Code(st.Activity)
		}
		return text
	case core.StateParked:
		return "paused. " + mdtext.Literal(st.Why)
	case core.StateWaiting:
		return "waiting for a free session. " + mdtext.Literal(st.Why)
	case core.StateStarting:
		return "starting Claude"
	}
	return "idle"
}

// InUse names the model of the live session, which may differ from the setting: an alias
// is resolved, and a setting applies from the next turn on.
func InUse(st core.ChannelStatus) string {
	if st.Model == "" || st.HostPID == 0 {
		return ""
	}
	return " (in use: " + mdtext.Code(st.Model) + ")"
}

// Configured returns a setting of the chat, or a text for an unset setting.
func Configured(own string) string {
	if own == "" {
		return "as configured for the gateway"
	}
	return mdtext.Code(own)
}

// Usage renders the spending.
func Usage(chat core.Usage, all core.Spending) string {
	spent, budget := humanize.USD(all.Spent), "no daily budget is set"
	if all.Limit > 0 {
		var limit string
		spent, limit = humanize.USDOfLimit(all.Spent, all.Limit)
		budget = fmt.Sprintf("of %s a day, %s left", limit, humanize.USD(max(0, all.Limit-all.Spent)))
	}
	return fmt.Sprintf("**This chat today**: %s in %s\n**This chat in total**: %s in %s\n**All chats today**: %s, %s",
		humanize.USD(chat.SpentToday), mdtext.Count(chat.TurnsToday, "turn", "turns"), humanize.USD(chat.Spent), mdtext.Count(chat.Turns, "turn", "turns"),
		spent, budget)
}

const queueShown = 10

// Queue lists the waiting messages.
func Queue(st core.ChannelStatus, waiting []core.Message) Note {
	var b strings.Builder
	if st.Turn != "" || st.State == core.StateParked {
		b.WriteString("Now: " + Activity(st, time.Now()) + "\n\n")
	}
	if len(waiting) == 0 {
		b.WriteString("No message is waiting.")
		return Note{Text: b.String()}
	}
	b.WriteString(mdtext.Count(len(waiting), "message is waiting:", "messages are waiting:") + "\n\n")
	var rows [][]Button
	for i := range waiting {
		if i == queueShown {
			fmt.Fprintf(&b, "\nAnd %d more.", len(waiting)-i)
			break
		}
		m := &waiting[i]
		fmt.Fprintf(&b, "%d\\. %s\n", i+1, mdtext.Literal(Summary(m)))
		n := fmt.Sprint(i + 1)
		rows = append(rows, []Button{{"Drop " + n, "drop:" + string(m.ID)}, {"Run " + n + " now", "now:" + string(m.ID)}})
	}
	return Note{Text: b.String(), Buttons: rows}
}

// WaitingToo describes the messages left in the queue by a stop.
func WaitingToo(st core.ChannelStatus) string {
	switch {
	case st.Waiting == 0:
		return ""
	case st.Why != "":
		return " " + mdtext.Count(st.Waiting, "message is waiting: ", "messages are waiting: ") + mdtext.Literal(st.Why)
	}
	return " " + mdtext.Count(st.Waiting, "message is waiting and comes next", "messages are waiting and come next") + "; see /queue."
}

const rulesShown = 20

// Rules lists the rules of a chat.
func Rules(rules []core.Rule) Note {
	if len(rules) == 0 {
		return Note{Text: "This chat has no rules. The button “Always” of a permission request adds one."}
	}
	var b strings.Builder
	var rows [][]Button
	b.WriteString("Always allowed in this chat:\n\n")
	for i, r := range rules {
		if i == rulesShown {
			fmt.Fprintf(&b, "\nAnd %d more, shown when some of these are removed.", len(rules)-i)
			break
		}
		fmt.Fprintf(&b, "%d\\. %s", i+1, mdtext.Code(mdtext.Shorten(visible.Line(r.Rule), 120)))
		if r.By != "" {
			fmt.Fprintf(&b, " by %s", mdtext.Literal(mdtext.Brief(r.By, 40)))
		}
		b.WriteString("\n")
		rows = append(rows, []Button{{Text: fmt.Sprintf("Remove %d: %s", i+1, mdtext.Shorten(visible.Line(r.Rule), 40)), Data: "unrule:" + r.ID}})
	}
	return Note{Text: b.String(), Buttons: rows}
}

// traceMarks is how many points of a timeline are shown: the last traceMarks points.
const traceMarks = 40

// Trace renders the history of a message, in the order of time.
func Trace(t core.Trace) string {
	w := &traceWriter{}
	m := &t.Message
	w.at(m.ReceivedAt, "received, %s", m.ReceivedAt.Local().Format(time.DateOnly))
	if t.Position > 0 {
		w.now("Waiting as number %d in the queue. %s", t.Position, mdtext.Literal(t.Why))
	}
	if t.Turn != nil {
		w.at(t.Turn.BegunAt, "handed to Claude after %s%s", mdtext.Duration(t.Turn.BegunAt.Sub(m.ReceivedAt)), together(t.Members))
		w.marks(t.Turn.Marks)
	}
	for i := range t.Approvals {
		if p := &t.Approvals[i]; p.State != core.ApprovalPending {
			subject, _, _ := words(p)
			w.at(p.DecidedAt, "%s: %s", mdtext.Literal(subject), mdtext.Literal(Outcome(p)))
		}
	}
	if m.State.Final() {
		w.at(m.EndedAt, "%s after %s%s", m.State, mdtext.Duration(m.EndedAt.Sub(m.ReceivedAt)), replyFacts(m.Reply))
	} else {
		w.now("Now %s.", m.State)
	}
	for i := range t.Deliveries {
		w.delivery(&t.Deliveries[i])
	}
	return mdtext.Literal(Summary(m)) + "\n\n" + w.text()
}

// A traceWriter collects what happened, and what is still to happen.
type traceWriter struct {
	past    []traceLine
	present []string
}

type traceLine struct {
	when time.Time
	text string
}

func (w *traceWriter) at(when time.Time, format string, args ...any) {
	w.past = append(w.past, traceLine{when, mdtext.Code(when.Local().Format("15:04:05")) + " " + fmt.Sprintf(format, args...)})
}

func (w *traceWriter) now(format string, args ...any) {
	w.present = append(w.present, fmt.Sprintf(format, args...))
}

func (w *traceWriter) text() string {
	slices.SortStableFunc(w.past, func(a, b traceLine) int { return a.when.Compare(b.when) })
	var b strings.Builder
	for _, line := range w.past {
		b.WriteString(line.text + "\n")
	}
	for _, line := range w.present {
		b.WriteString(line + "\n")
	}
	return b.String()
}

func together(members []core.MessageID) string {
	if len(members) < 2 {
		return ""
	}
	return fmt.Sprintf(", together with %s", mdtext.Count(len(members)-1, "other message", "other messages"))
}

func (w *traceWriter) marks(marks []core.Mark) {
	if len(marks) > 0 && marks[0].What == "handed" { // contained in the line before
		marks = marks[1:]
	}
	if over := len(marks) - traceMarks; over > 0 {
		marks = marks[over:]
		w.past = append(w.past, traceLine{marks[0].At, mdtext.Count(over, "earlier point is left out", "earlier points are left out")})
	}
	for _, k := range marks {
		text := strings.ReplaceAll(k.What, "_", " ")
		if k.Detail != "" {
			text += " " + mdtext.Code(mdtext.Brief(k.Detail, 80))
		}
		if k.Took > 0 {
			text += ", " + mdtext.Duration(k.Took)
		}
		w.at(k.At, "%s", text)
	}
}

func replyFacts(r core.Reply) string {
	var b strings.Builder
	if r.Code != "" {
		fmt.Fprintf(&b, " (%s)", mdtext.Code(r.Code))
	}
	if r.Error != "" {
		b.WriteString(": " + mdtext.Literal(mdtext.Brief(r.Error, 300)))
	}
	if r.Coalesced {
		b.WriteString(", with the answer to another message")
	}
	if r.CostUSD > 0 {
		b.WriteString(", " + humanize.USD(r.CostUSD))
	}
	return b.String()
}

func (w *traceWriter) delivery(d *core.Delivery) {
	what := strings.ReplaceAll(string(d.Kind), "_", " ")
	switch d.State {
	case core.DeliverySent:
		w.at(d.EndedAt, "%s delivered", what)
	case core.DeliveryFailed:
		w.at(d.EndedAt, "%s could not be delivered: %s", what, mdtext.Literal(mdtext.Brief(d.Error, 300)))
	case core.DeliveryPending:
		tried := ""
		if d.Error != "" {
			tried = " Tried " + mdtext.Count(d.Attempts, "time", "times") + ": " + mdtext.Literal(mdtext.Brief(d.Error, 300))
		}
		w.now("The %s is being delivered.%s", what, tried)
	}
}
