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
	// Reserve returns the id of a session that has been started already and
	// belongs to no channel yet, or false if there is none. The channel that is
	// started with this id soon gets it. It does not wait for processes.
	Reserve() (sessionID string, ok bool)
	// Start begins a session in a process of its own that outlives this one.
	// It returns before the agent is ready: turns may be handed over at once.
	// Whatever an earlier process of the channel left is ended first.
	Start(ctx context.Context, key ChannelKey, l Launch) (Session, error)
	// Attach finds the live session of the channel; ErrNoHost when there is none.
	Attach(ctx context.Context, key ChannelKey) (Session, error)
}

// A Reaper finds and ends what is left of sessions.
type Reaper interface {
	// Live lists the channels that have a live session process.
	Live(ctx context.Context) ([]ChannelKey, error)
	// Reap ends whatever is left of the channel's processes, verified by pid and
	// start time, and returns when they are gone.
	Reap(ctx context.Context, key ChannelKey) error
}

// A Historian reads what sessions left on disk.
type Historian interface {
	// Fate reads from what the agent and its host left on disk what became of a
	// turn that was begun in that session of the channel.
	Fate(ctx context.Context, key ChannelKey, sessionID string, id TurnID) (Fate, error)
	// Lasting reports whether sessions can be resumed by id later on.
	Lasting() bool
}

// Launch says which session to start.
type Launch struct {
	SessionID string
	Resume    bool     // continue what is recorded under the id, rather than begin it
	Settings  Settings // of its channel; a session that waited for a channel is not taken where there are any
}

// A Session is one live conversation with the agent, held by a process that
// outlives this one. Methods may be called from one goroutine at a time; Events
// may be received from meanwhile.
type Session interface {
	// Info returns what the host said of itself when it was attached.
	Info() SessionInfo
	// Hand gives the agent a turn. The turn must be durable.
	Hand(id TurnID, line []byte) error
	// Interrupt asks the agent to end the running turn and keep the session.
	Interrupt() error
	// Answer decides a tool permission request; the first answer wins.
	Answer(requestID string, d Answer) error
	// Ack tells the host that the events up to seq need no replay. It may be
	// sent with a short delay.
	Ack(seq uint64)
	// Events returns what the session says, each event once and in order, in
	// batches of what arrived together. The channel is closed when the host is
	// gone; an Exited event comes before that if the agent ended first.
	Events() <-chan []Event
	// Stop ends the agent and its host. It does not wait; Events closes when it
	// is done.
	Stop(how StopMode) error
	// Detach leaves the session running and closes Events.
	Detach()
}

// A StopMode says how much time an agent gets to end.
type StopMode int

// The ways to end an agent. SIGKILL follows where SIGTERM does not help.
const (
	StopNow       StopMode = iota // SIGTERM, and some 300 ms: somebody waits for the end
	StopPatiently                 // SIGTERM, and 5 s: for tools that tidy up
	StopGently                    // its input is closed first, and it has 5 s to finish what runs
)

// SessionInfo is what a host says of itself.
type SessionInfo struct {
	SessionID string
	HostPID   int
	HostStart uint64 // when it started: only good to tell it from another of that pid
	AgentPID  int
	Turns     []TurnID  // those handed to this process, newest last (bounded)
	Working   []TurnID  // those that the agent had begun, and was not done with, before the first event that comes now
	Requests  []Request // permission requests that wait for an answer
	Ready     bool
	Said      uint64 // the last event that it had said by then
	Replays   bool   // events up to that one come again now
	Tasks     int    // background tasks that are alive
	Stale     bool   // started by another program, or with another configuration, than sessions are now
	Settings  string // fingerprint of the channel's settings that it was started with
}

// Knows reports whether the turn was handed to this process.
func (i SessionInfo) Knows(id TurnID) bool { return slices.Contains(i.Turns, id) }

// Begun reports whether the agent was working on the turn before the first event
// that comes now.
func (i SessionInfo) Begun(id TurnID) bool { return slices.Contains(i.Working, id) }

// An Answer is a decision in the agent's terms.
type Answer struct {
	Allow        bool
	Message      string
	UpdatedInput json.RawMessage // nil: as asked
	Rules        json.RawMessage // permission rules to add for this process; nil: none
}

// EventKind says what an event means to a lane.
type EventKind int

// The kinds of events. Everything the agent says comes as an event with its raw
// line; kinds other than Said carry the fields named.
const (
	Said         EventKind = iota // nothing a lane acts on
	TurnState                     // Turn, Phase
	Resulted                      // Result
	Requested                     // Request
	RequestGone                   // Request.ID: no longer to be answered
	SessionNew                    // SessionID: the conversation goes on under this id; comes before the event of the same line, with its Seq
	ToolBegun                     // Tool, Target, ToolID, Timeout
	ToolEnded                     // ToolID
	Retrying                      // Detail, Status: the agent's own retries of a failing API
	Limited                       // Until: a usage limit refuses the agent; a result says whether a turn ends of it
	TasksChanged                  // Tasks: background tasks that are alive now
	Readied                       // the agent is ready
	Exited                        // Exit
	LogFull                       // Seq is the last one before: no more is said before that is acknowledged, or, with Detail, what Detail says has been mended
)

// Phase is how far the agent is with a turn.
type Phase string

// The phases of a turn.
const (
	PhaseQueued    Phase = "queued"
	PhaseStarted   Phase = "started"
	PhaseCompleted Phase = "completed" // the agent is done with it; not by itself an answer
	PhaseCancelled Phase = "cancelled"
)

// An Event is one thing a session said.
type Event struct {
	Seq       uint64
	Kind      EventKind
	At        time.Time       // when the host heard it; zero when that is not known
	Type      string          // the agent's name for it
	Raw       json.RawMessage // its line, unchanged; nil for events of the host
	Turn      TurnID
	Phase     Phase
	Result    *Result
	Request   *Request
	SessionID string
	Tool      string
	Target    string
	ToolID    string        // the agent's id of one call
	Timeout   time.Duration // how long the call says that it may take; 0: it does not say
	Detail    string
	Status    int       // HTTP status of the failing API; 0 when it did not answer
	Until     time.Time // when the limit ends; zero when that is not known
	Tasks     int
	Model     string // the model that the session uses from here on; empty: it does not say
	Exit      *Exit
}

// A Result is how the agent says a turn ended. It answers the turns it names,
// and none when Background is set.
type Result struct {
	Turns       []TurnID
	Background  bool
	Text        string
	IsError     bool
	Interrupted bool   // it was aborted
	Code        string // stable word for an error
	Error       string // the error for a person
	SessionID   string
	TotalCost   float64 // USD, running total of the session
	Cost        float64 // USD since the result before it in the same process; 0 when that is not said
	NumTurns    int
	Until       time.Time // with Code usage_limit: when it ends, if the error says so
}

// A Request is a tool permission the agent asks for.
type Request struct {
	ID         string
	Tool       string
	Input      json.RawMessage
	Suggestion json.RawMessage
}

// An Exit is the end of the agent's process.
type Exit struct {
	Reason ExitReason
	Code   string // stable word for the failure
	Text   string // for a person: what happened, with the agent's last words
}

// ExitReason is what a lane must know about an exit.
type ExitReason int

// The reasons of an exit.
const (
	ExitOther          ExitReason = iota
	ExitUnknownSession            // resume: no such session
	ExitSessionInUse              // begin: the session exists already
	ExitStartFailed               // it never became ready
)

// A Fate is what the agent's own record says of a turn.
type Fate struct {
	Begun       bool // the agent had taken it up
	ToolBegun   bool // and had begun a tool
	Interrupted bool // and was interrupted
	Answered    bool // and had finished: Text is the answer
	Failed      bool // and had ended in an error: Code and Text say which
	Code        string
	Text        string
	Done        string // what had been done, for a person; may be empty
	Into        TurnID // the turn that it was folded into, if it was: it shares its fate
}
