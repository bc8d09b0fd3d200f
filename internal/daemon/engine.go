package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/adapters/kinds"
	"bareclaw/core"
	"bareclaw/core/config"
	"bareclaw/core/feed"
	"bareclaw/core/lanes"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/core/sessionfile"
	"bareclaw/core/sessionpool"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/memory"
	"bareclaw/internal/shellquote"
	"bareclaw/internal/shortid"
	"bareclaw/mcp"
	"bareclaw/sessionhost"
	"bareclaw/sessionhost/claude"
)

// An engine is the gateway without its adapters: the records, the session hosts and the
// channels' lanes.
type engine struct {
	*base
	agent      agent
	generation int64
	ledger     *sqlite.Ledger
	sessions   *sessionfile.File
	hosts      *sessionhost.Hosts
	manager    *lanes.Manager
}

func (e *engine) part() part { return part{name: "engine", stop: e.stop, health: e.health} }

// start opens the records and makes the lanes, which do nothing before recover.
func (e *engine) start() (err error) {
	if err := e.openRecords(); err != nil {
		return err
	}
	e.agent = chooseAgent(e.cfg, e.self)
	if e.agent.problem != "" {
		e.log.Warn("agent", "problem", e.agent.problem)
	}
	if e.hosts, err = e.newHosts(); err != nil {
		return err
	}
	deliverers := map[string]string{}
	for _, k := range kinds.All() {
		if k.IsConfigured(e.cfg) {
			deliverers[k.Prefix] = k.Name
		}
	}
	e.manager = lanes.New(lanes.Options{
		Defaults:        core.Settings{PermissionMode: string(e.cfg.Claude.PermissionMode), Tools: string(e.cfg.Claude.Tools.Set)},
		Ledger:          e.ledger,
		Agent:           e.hosts,
		Sessions:        e.sessions,
		Log:             e.log,
		QueueLimit:      int(e.cfg.Turns.QueueLimit),
		TurnTimeout:     time.Duration(e.cfg.Turns.Timeout),
		StallAfter:      time.Duration(e.cfg.Turns.StallAfter),
		StallAction:     lanes.StallAction(e.cfg.Turns.StallAction),
		IdleTimeout:     time.Duration(e.cfg.Turns.IdleTimeout),
		MaxSessions:     cmp.Or(int(e.cfg.Turns.MaxSessions), sessionpool.LimitFor(memory.Total())),
		TurnBudget:      float64(e.cfg.Claude.MaxBudgetUSD),
		DailyBudget:     float64(e.cfg.Claude.DailyBudgetUSD),
		Approvals:       lanes.ApprovalPolicy(e.cfg.Turns.Approvals),
		ApprovalTimeout: time.Duration(e.cfg.Turns.ApprovalTimeout),
		Greeting:        e.agent.greeting(),
		Deliverers:      deliverers,
		Advice:          e.advice(),
		LanesChanged:    useProcessors,
	})
	go func() { // ends when leftover processes have been looked at
		if err := e.hosts.Sweep(context.Background()); err != nil {
			e.log.Error("processes of earlier sessions are left", "err", err)
		}
	}()
	e.restoreFeeds()
	return nil
}

// fewLanes is the number of lanes up to which one processor serves best: handing work from
// goroutine to goroutine wakes no thread then.
const fewLanes = 12

// useProcessors makes this process use one processor for few lanes, and all for more. It does
// nothing if the environment sets GOMAXPROCS.
func useProcessors(lanes int) {
	switch {
	case os.Getenv("GOMAXPROCS") != "":
	case lanes <= fewLanes:
		runtime.GOMAXPROCS(1)
	case lanes == fewLanes+1:
		runtime.SetDefaultGOMAXPROCS() // which stops the program for a moment: not again for each further lane
	}
}

// advice names the settings and commands that change what the core reports.
func (e *engine) advice() lanes.Advice {
	return lanes.Advice{
		DailyBudget: "BARECLAW_DAILY_BUDGET_USD",
		MaxSessions: "BARECLAW_MAX_SESSIONS",
		TurnTimeout: "BARECLAW_TIMEOUT_MS",
		AskPeople:   "set BARECLAW_APPROVALS=ask and answer at /approvals, then restart the gateway",
		AllowTool:   "add the tool to BARECLAW_ALLOWED_TOOLS",
		UndoModel:   "/model default",
		UndoMode:    "/mode reset",
		Undo:        "over HTTP with PATCH /channels/{key} and an empty value",
		Login:       claude.LoginAdvice(filepath.Join(e.cfg.ConfigDir, ".env")),
		Shorten:     "`/compact`",
		Retry:       func(id core.MessageID) string { return "`bareclaw retry " + shortid.Of(string(id)) + "`" },
		NewConversation: func(key core.ChannelKey) string {
			if command := kinds.Of(key).NewConversation; command != "" {
				return "`" + command + "`"
			}
			return "`bareclaw channels reset " + shellquote.Word(string(key)) + "`"
		},
	}
}

// recover takes up sessions and messages, with the tools that sessions call. The hosts have their
// answers first, because claude asks for the tools once, as it starts.
func (e *engine) recover(tools *mcp.Server) error {
	if err := e.hosts.ServeTools(tools); err != nil {
		e.log.Error("sessions have no tools of the gateway until the tool host is ready", "err", err)
	}
	if err := e.hosts.KeepSpares(context.Background()); err != nil {
		return fmt.Errorf("take over spare sessions: %w", err)
	}
	if err := e.manager.Recover(context.Background(), tools); err != nil {
		return fmt.Errorf("take up messages of the earlier process: %w", err)
	}
	return nil
}

func (e *engine) stop(why stopReason) (err error) {
	e.manager.Detach()
	e.hosts.LeaveSpares()
	if why == endingSessions {
		err = e.endHosts()
	}
	e.closeRecords()
	return err
}

func (e *engine) endHosts() error {
	ctx, cancel := context.WithTimeout(context.Background(), hostsGrace)
	defer cancel()
	spares := make(chan error, 1)
	go func() { spares <- e.hosts.EndSpares(ctx) }() // ends with ctx; waited for below
	if err := errors.Join(e.manager.Shutdown(ctx), <-spares); err != nil {
		return fmt.Errorf("end session hosts: %w", err)
	}
	return e.hosts.RemoveToolAnswers()
}

func (e *engine) health(h *api.Health) {
	h.Agent = e.agent.health()
	h.Generation = uint64(e.generation)
	h.Spares.Ready, h.Spares.Wanted = e.hosts.Spares()
	h.Ledger = &api.Ledger{}
	records := api.Part{Name: "ledger", Ready: true}
	if err := e.ledger.Problem(); err != nil {
		h.Ledger.Problem = err.Error()
		records.Ready = false
		records.Problem = "Messages are refused and outcomes wait to be written: " + err.Error()
	}
	h.AddPart(records)
	problem := e.sessions.Problem()
	h.AddPart(api.Part{Name: "session file", Ready: problem == "", Problem: problem})
}

func (e *engine) openRecords() (err error) {
	if e.ledger, err = sqlite.Open(filepath.Join(e.cfg.StateDir(), "ledger.db"), e.log); err != nil {
		return err
	}
	if e.generation, err = e.ledger.NextGeneration(context.Background()); err != nil {
		return err
	}
	e.sessions, err = sessionfile.Open(string(e.cfg.Files.SessionFile), e.log)
	return err
}

// closeRecords closes the ledger and the session ids, and may be called again.
func (e *engine) closeRecords() {
	if e.ledger != nil {
		if err := e.ledger.Close(); err != nil {
			e.log.Error("ledger not closed cleanly", "err", err)
		}
	}
	if e.sessions != nil {
		_ = e.sessions.Close()
	}
}

func (e *engine) newHosts() (*sessionhost.Hosts, error) {
	configDir := os.Getenv("CLAUDE_CONFIG_DIR")
	if configDir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("find claude's configuration: %w", err)
		}
		configDir = filepath.Join(home, ".claude")
	}
	return sessionhost.New(sessionhost.Options{
		StateDir:   e.cfg.StateDir(),
		RuntimeDir: e.cfg.RuntimeDir(),
		Self:       e.self,
		Dir:        string(e.cfg.Files.CWD),
		Env:        append(claude.Environ(os.Environ(), e.cfg.Claude.PassEnv), client.SocketVariable+"="+client.Socket(e.cfg)),
		Program:    e.agent.program,
		Launch: claude.Launch{
			MaxTurns:           int(e.cfg.Claude.MaxTurns),
			MaxBudgetUSD:       float64(e.cfg.Claude.MaxBudgetUSD),
			AllowedTools:       strings.Join(append(slices.Clone(e.cfg.Claude.AllowedTools), claude.ToolRules), ","),
			Model:              string(e.cfg.Claude.Model),
			SettingSources:     strings.TrimPrefix(string(e.cfg.Claude.SettingSources), string(config.SettingSourcesAll)),
			PermissionMode:     string(e.cfg.Claude.PermissionMode),
			AppendSystemPrompt: e.prompt(),
			FileMentions:       e.cfg.Claude.FileMentions == config.FileMentionsOn,
		},
		ConfigDir:    configDir,
		Lasting:      e.agent.kind == config.AgentClaude,
		Generation:   e.generation,
		StartTimeout: time.Duration(e.cfg.Turns.StartTimeout),
		IdleTimeout:  time.Duration(e.cfg.Turns.IdleTimeout),
		Log:          e.log,
		ToolServer:   filepath.Join(e.cfg.RuntimeDir(), "tools.json"),
		Spares:       int(e.cfg.Turns.WarmSpares),
		MemoryFree:   memory.Available,
	})
}

const (
	// updatesTimeout bounds how long a client that resumes a stream waits until the earlier
	// process has written the updates.
	updatesTimeout = 10 * time.Second
	// updatesLook is the time between two attempts to lock the file of updates.
	updatesLook = 5 * time.Millisecond
	// updatesKept is how long the file of updates stays open: a feed without listeners is
	// kept as long.
	updatesKept = 2 * time.Minute
)

// feedsPath returns where the process of a generation leaves the index of its streams. The
// generation is in the name, because only the very next process can resume the streams.
func (e *engine) feedsPath(generation int64) string {
	return filepath.Join(e.cfg.RuntimeDir(), fmt.Sprintf("feeds-%d.json", generation))
}

// updatesPath returns where the process of a generation leaves the updates of its streams.
// The process locks the file until all updates are written.
func (e *engine) updatesPath(generation int64) string {
	return filepath.Join(e.cfg.RuntimeDir(), fmt.Sprintf("feeds-%d.updates", generation))
}

// saveFeeds writes the index of the streams, for clients that resume a stream at the next
// process. The returned function writes the updates while the next process already serves.
// If writing fails, clients get a notice that events may be missing.
func (e *engine) saveFeeds() (write func()) {
	feeds, updates, err := e.beginFeeds()
	if err != nil {
		e.log.Warn("streams cannot be resumed by the next process", "err", err)
	}
	return func() {
		if updates == nil { // there is nothing to write
			return
		}
		if err := errors.Join(feeds.WriteUpdates(updates), updates.Close()); err != nil {
			e.log.Warn("streams cannot be resumed by the next process", "err", err)
		}
	}
}

// beginFeeds writes the index of the streams, and locks the file for their updates. The file
// is nil if there are no updates.
func (e *engine) beginFeeds() (feeds *feed.Snapshot, updates *os.File, err error) {
	if feeds, err = e.manager.SaveFeeds(); err != nil || feeds == nil {
		return nil, nil, err
	}
	if updates, err = os.OpenFile(e.updatesPath(e.generation), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return nil, nil, err
	}
	if err = lockfile.Try(updates); err == nil {
		err = os.WriteFile(e.feedsPath(e.generation), feeds.Index, 0o600) // after the lock: a process that finds the index must find the lock
	}
	if err != nil {
		_ = updates.Close()
		return nil, nil, err
	}
	return feeds, updates, nil
}

// restoreFeeds restores the streams that the previous process has left, and removes the
// files of all earlier processes.
func (e *engine) restoreFeeds() {
	index, err := os.ReadFile(e.feedsPath(e.generation - 1))
	var updates *os.File
	if err == nil {
		updates, err = os.Open(e.updatesPath(e.generation - 1))
	}
	left, _ := filepath.Glob(filepath.Join(e.cfg.RuntimeDir(), "feeds-*")) // none where the directory's name is no pattern
	for _, path := range left {
		_ = os.Remove(path) // what stays is not asked for again
	}
	if err == nil {
		time.AfterFunc(updatesKept, func() { _ = updates.Close() })
		err = e.manager.Feeds.Restore(index, time.Now(), e.log, func() (*io.SectionReader, error) { return awaitUpdates(e.life, updates) })
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.log.Warn("streams of the earlier process cannot be resumed", "err", err)
	}
}

// awaitUpdates returns the file when the earlier process has released the lock: the updates
// are written, or the process has ended.
func awaitUpdates(ctx context.Context, f *os.File) (*io.SectionReader, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, updatesTimeout, fmt.Errorf("the earlier process did not write its updates within %s", updatesTimeout))
	defer cancel()
	err := lockfile.Await(ctx, f, updatesLook)
	st, statErr := f.Stat()
	if err := cmp.Or(statErr, err); err != nil { // the former also says that the file was closed
		return nil, err
	}
	return io.NewSectionReader(f, 0, st.Size()), nil
}
