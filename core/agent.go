package core

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// An Agent starts and finds the sessions that answer turns. All methods are
// safe for concurrent use.
type Agent interface {
	Composer
	Starter
	Reaper
	Historian
}

// A Composer encodes turns.
type Composer interface {
	// Compose returns the exact bytes that hand a turn to the agent. Content is
	// a JSON string or an array of content blocks.
	Compose(id TurnID, content json.RawMessage) ([]byte, error)
}

// A Starter starts and finds sessions.
type Starter interface {
	// Reserve returns the id of a started session without a channel, and false if no
	// session is free. The caller soon starts a channel with the id; Start then gives the
	// session to the channel. Reserve does not wait for processes.
	Reserve() (sessionID string, ok bool)
	// Start begins a session in a process that outlives the gateway's process. Start first
	// ends the remains of the channel's earlier process, and returns before the agent is
	// ready: turns may be handed over at once.
	Start(ctx context.Context, key ChannelKey, l Launch) (Session, error)
	// Attach finds the live session of the channel, and returns ErrNoHost without a live
	// session.
	Attach(ctx context.Context, key ChannelKey) (Session, error)
}

// A Reaper finds and ends the processes that sessions left behind.
type Reaper interface {
	// Live lists the channels that have a live session process.
	Live(ctx context.Context) ([]ChannelKey, error)
	// Reap ends the channel's remaining processes, verified by pid and start time, and
	// returns once all have exited.
	Reap(ctx context.Context, key ChannelKey) error
}

// A Historian reads the records that sessions left on disk.
type Historian interface {
	// Fate reads the outcome of a turn, begun in the named session of the channel, from the
	// files of the agent and the session's host.
	Fate(ctx context.Context, key ChannelKey, sessionID string, id TurnID) (Fate, error)
	// Lasting reports whether sessions can be resumed by id later on.
	Lasting() bool
}

// Launch says which session to start.
type Launch struct {
	SessionID string
	Resume    bool     // continue the conversation recorded under SessionID instead of beginning a new one
	Settings  Settings // of the channel; Start takes no reserved session for a channel with settings
}

// A Session is a live conversation with the agent, held by a process that outlives the
// gateway's process. Methods must be called from a single goroutine at a time; the channel
// of Events may be received from concurrently.
type Session interface {
	// Info returns the host's description of the session at the time of attaching.
	Info() SessionInfo
	// Hand gives the agent a turn. The turn must already be durable.
	Hand(id TurnID, line []byte) error
	// Interrupt asks the agent to end the running turn and keep the session.
	Interrupt() error
	// Answer decides a tool permission request; the first answer wins.
	Answer(requestID string, d Answer) error
	// Respond answers a request to the gateway's tools; the first answer wins.
	Respond(requestID string, response json.RawMessage) error
	// Ack tells the host that events up to seq need no replay. The session may send the
	// acknowledgement with a short delay.
	Ack(seq uint64)
	// Events returns the session's events, each once and in order, in batches as received. The
	// receiver frees each batch.
	// The channel is closed when the host is gone; if the agent ended first, an Exited event
	// precedes the close.
	Events() <-chan *Batch
	// Stop ends the agent and its host without waiting. Events is closed when both have
	// ended.
	Stop(how StopMode) error
	// Detach leaves the session running and closes Events.
	Detach()
}

// A StopMode sets the time that an agent gets to end.
type StopMode int

// The ways to end an agent. SIGKILL follows if SIGTERM has no effect.
const (
	StopNow       StopMode = iota // SIGTERM, and some 300 ms: a caller waits for the end
	StopPatiently                 // SIGTERM, and 5 s for tools to clean up
	StopGently                    // close the agent's input, and allow 5 s to finish running work
)

// SessionInfo is a host's description of its session.
type SessionInfo struct {
	SessionID string
	HostPID   int
	HostStart uint64 // start time of the host, to tell apart processes with the same pid
	AgentPID  int
	Turns     []TurnID      // turns handed to the process, newest last (bounded)
	Working   []TurnID      // turns that the agent had begun and not completed before the first of Events
	Requests  []Request     // permission requests that wait for an answer
	Calls     []ToolRequest // requests to tools that wait for an answer
	Ready     bool
	Said      uint64   // number of the host's last event at the time of attaching
	Replays   bool     // the host now replays events up to Said
	Tasks     []string // descriptions of the background tasks that are alive; a description may be empty
	Stale     bool     // started with another program or configuration than a new session would be
	Settings  string   // fingerprint of the channel's settings at the session's start
	Version   string   // of the agent's program; empty if unknown
}

// Knows reports whether the turn was handed to the session's process.
func (i SessionInfo) Knows(id TurnID) bool { return slices.Contains(i.Turns, id) }

// Begun reports whether the agent was working on the turn before the first of Events.
func (i SessionInfo) Begun(id TurnID) bool { return slices.Contains(i.Working, id) }

// An Answer is a decision in the agent's terms.
type Answer struct {
	Allow        bool
	Message      string
	UpdatedInput json.RawMessage // nil: the input as requested
	Rules        json.RawMessage // permission rules to add for the agent's process; nil: none
}

// EventKind says what an event means to a lane.
type EventKind int

// The kinds of events. Every line of the agent arrives as an event with the raw line; kinds
// besides Said also carry the named fields.
const (
	Said          EventKind = iota // nothing a lane acts on
	TurnState                      // Turn, Phase
	Resulted                       // Result
	Requested                      // Request
	RequestGone                    // Request.ID: can no longer be answered
	ToolRequested                  // ToolRequest
	ToolCancelled                  // ToolRequest.MessageID: nobody waits for the answer any more
	SessionNew                     // SessionID: the conversation continues under the new id; precedes the event of the same line, with the same Seq
	ToolBegun                      // Tool, Target, ToolID, Timeout
	ToolEnded                      // ToolID
	Retrying                       // Detail, Status: the agent's own retries of a failing API
	Limited                        // Until: a usage limit refuses the agent; a result says whether the turn ended because of the limit
	TasksChanged                   // Tasks: the live background tasks
	OwnTurn                        // Detail: what woke the agent, if known; the agent begins a turn that no message asked for, unless a turn is open
	Warned                         // Detail: a warning of the agent for the user
	Readied                        // the agent is ready
	Exited                         // Exit
	LogFull                        // Seq is the last event before the log became full; the host sends no more until Seq is acknowledged or, with Detail, until the problem in Detail is fixed
)

// Phase is the agent's progress on a turn.
type Phase string

// The phases of a turn.
const (
	PhaseQueued    Phase = "queued"
	PhaseStarted   Phase = "started"
	PhaseCompleted Phase = "completed" // the agent is done with the turn; not by itself an answer
	PhaseCancelled Phase = "cancelled"
)

// Done reports whether the agent will do nothing more for the turn.
func (p Phase) Done() bool { return p == PhaseCompleted || p == PhaseCancelled }

// An Event is a line of the agent, or a fact reported by the host.
type Event struct {
	Seq         uint64
	Kind        EventKind
	At          time.Time       // time at which the host read the line; zero if unknown
	Type        string          // the agent's name for the event
	Raw         json.RawMessage // the agent's line, unchanged, until the event's batch is freed; nil for events of the host
	Turn        TurnID
	Phase       Phase
	Result      *Result
	Request     *Request
	ToolRequest *ToolRequest
	SessionID   string
	Tool        string
	Target      string
	ToolID      string        // the agent's id of a call
	Timeout     time.Duration // bound declared by the call; 0 if not declared
	Detail      string
	Status      int       // HTTP status of the failing API; 0 without a response
	Until       time.Time // end of the limit; zero if unknown
	Tasks       []string  // descriptions; a description may be empty
	Model       string    // model used by the session from now on; empty if not reported
	Version     string    // version of the agent's program; empty if not reported
	Exit        *Exit
}

// A Result is the agent's report of a turn's end. A Result answers the named turns, and no
// turn when Background is set. The agent does not mark each of its own turns: a Result that
// names no turn while no turn is under way belongs to one, too.
type Result struct {
	Turns       []TurnID `json:"turns,omitempty"`
	Background  bool     `json:"background,omitempty"`
	WokenBy     string   `json:"woken_by,omitempty"` // with Background: what began the turn, for a person; empty if unknown
	Text        string   `json:"text,omitempty"`
	IsError     bool     `json:"is_error,omitempty"`
	Interrupted bool     `json:"interrupted,omitempty"` // the turn was aborted
	Code        string   `json:"code,omitempty"`        // stable word for an error
	Error       string   `json:"error,omitempty"`       // the error for a person
	SessionID   string   `json:"session_id,omitempty"`
	TotalCost   float64  `json:"total_cost,omitempty"` // USD, running total of the session
	Cost        float64  `json:"cost,omitempty"`       // USD since the previous result of the same process; 0 if unreported
	NumTurns    int      `json:"num_turns,omitempty"`
	// Refused names the reason for which the API refuses the conversation as it is, the same
	// for each repetition; empty for any other result.
	Refused string    `json:"refused,omitempty"`
	Until   time.Time `json:"until,omitzero"` // with Code usage_limit: end of the limit, if the error names a time
}

// A Request asks for permission to use a tool.
type Request struct {
	ID         string
	Tool       string
	Input      json.RawMessage
	Suggestion json.RawMessage
}

// A ToolRequest is a request of the agent to an MCP server of the gateway.
type ToolRequest struct {
	ID        string          // for [Session.Respond]
	Server    string          // the name of the MCP server: that in the middle of mcp__SERVER__TOOL
	MessageID string          // the id in Message, as JSON
	Message   json.RawMessage // a JSON-RPC request of MCP
	At        time.Time       // when the host read the request; zero if unknown
	Turn      TurnID          // running at the request; empty outside of turns
	Depth     int             // that of the turn's deepest message
}

// A ToolCall is what became of a call of one of the gateway's tools.
type ToolCall struct {
	Tool    string
	BegunAt time.Time
	Outcome ToolOutcome
}

// ToolOutcome is the outcome of a call, as part of a sentence.
type ToolOutcome string

// The outcomes of a call.
const (
	ToolDone    ToolOutcome = "done"
	ToolFailed  ToolOutcome = "failed"
	ToolUnknown ToolOutcome = "outcome unknown" // begun, and cut by the end of a process
)

// An Exit is the end of the agent's process.
type Exit struct {
	Reason ExitReason
	Code   string // stable word for the failure
	Text   string // the event and the agent's last words, for a person
	// Wait says, for a person, why the agent cannot be started now and may be later; empty
	// unless the agent never became ready and another try may help.
	Wait string
}

// ExitReason classifies an exit for a lane.
type ExitReason int

// The reasons of an exit.
const (
	ExitOther          ExitReason = iota
	ExitUnknownSession            // resume: no such session
	ExitSessionInUse              // begin: the session exists already
	ExitStartFailed               // the agent never became ready
)

// A Fate is the agent's own record of a turn.
type Fate struct {
	Begun       bool // the agent had begun the turn
	ToolBegun   bool // the turn had begun a tool
	Interrupted bool // the turn was interrupted
	Answered    bool // the turn had finished: Text is the answer
	Failed      bool // the turn had ended in an error: see Code and Text
	Code        string
	Text        string
	Done        string // completed work, for a person; may be empty
	Into        TurnID // the turn whose fate applies, if the agent folded the turn into another
}

// NewsGrace bounds the time between the end of a background task and the turn that the agent
// begins about the task. The time includes a call of the API, for the turn's first word.
const NewsGrace = 30 * time.Second

// An Activity follows the work of an agent outside the turns of messages: background tasks,
// and turns that the agent begins by itself. Lanes and session hosts decide by an Activity
// whether a session is idle. The zero value describes an idle agent.
type Activity struct {
	Tasks     int       // background tasks that are alive
	OwnTurn   bool      // the agent speaks while no turn is open
	NewsUntil time.Time // until then the agent may begin a turn about an ended task
}

// SetTasks records the number of live background tasks.
func (a *Activity) SetTasks(n int, now time.Time) {
	if a.Tasks > 0 && n == 0 {
		a.NewsUntil = now.Add(NewsGrace)
	}
	a.Tasks = n
}

// Speaks records a word of the agent itself. Words of subagents do not count: a background
// task is alive as long as a subagent works without a turn.
func (a *Activity) Speaks(turnOpen bool) { a.OwnTurn = !turnOpen }

// TurnEnds records the end of a turn, begun by a message or by the agent.
func (a *Activity) TurnEnds() { a.OwnTurn, a.NewsUntil = false, time.Time{} }

// Busy reports whether the agent or a background task is working.
func (a Activity) Busy() bool { return a.OwnTurn || a.Tasks > 0 }
