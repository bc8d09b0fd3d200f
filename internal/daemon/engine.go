package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/adapters/telegram"
	"bareclaw/core/config"
	"bareclaw/core/lanes"
	"bareclaw/core/ledger"
	"bareclaw/core/sessionfile"
	"bareclaw/core/sessionpool"
	"bareclaw/internal/memory"
	"bareclaw/sessionhost"
	"bareclaw/sessionhost/claude"
)

// An engine is the gateway without its adapters: the records, the session hosts and the
// channels' lanes.
type engine struct {
	*base
	agent      agent
	generation int64
	ledger     *ledger.Ledger
	sessions   *sessionfile.File
	hosts      *sessionhost.Hosts
	manager    *lanes.Manager
}

func (e *engine) part() part { return part{e.start, e.stop, e.health} }

// start opens the records, finds the session hosts and makes the lanes, which do nothing
// before recover.
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
	if err := e.hosts.KeepSpares(context.Background()); err != nil {
		return fmt.Errorf("take over spare sessions: %w", err)
	}
	deliverers := map[string]string{}
	if e.cfg.TelegramToken.IsSet() {
		deliverers[telegram.Prefix] = telegram.Name
	}
	e.manager = lanes.New(lanes.Options{
		Ledger: e.ledger, Agent: e.hosts, Sessions: e.sessions, Log: e.log,
		QueueLimit: e.cfg.QueueLimit, TurnTimeout: e.cfg.Timeout,
		StallAfter: e.cfg.StallAfter, StallAction: lanes.StallAction(e.cfg.StallAction),
		IdleTimeout: e.cfg.IdleTimeout, MaxSessions: cmp.Or(e.cfg.MaxSessions, sessionpool.LimitFor(memory.Total())),
		TurnBudget: e.cfg.MaxBudgetUSD, DailyBudget: e.cfg.DailyBudgetUSD,
		Approvals: lanes.ApprovalPolicy(e.cfg.Approvals), ApprovalTimeout: e.cfg.ApprovalTimeout,
		Greeting: e.agent.greeting(), Deliverers: deliverers, Advice: advice(),
	})
	go func() { // ends when leftover processes have been looked at
		if err := e.hosts.Sweep(context.Background()); err != nil {
			e.log.Error("processes of earlier sessions are left", "err", err)
		}
	}()
	e.restoreFeeds()
	return nil
}

// advice names the settings and commands that change what the core reports.
func advice() lanes.Advice {
	return lanes.Advice{
		DailyBudget: "BARECLAW_DAILY_BUDGET_USD", MaxSessions: "BARECLAW_MAX_SESSIONS", TurnTimeout: "BARECLAW_TIMEOUT_MS",
		AskPeople: "set BARECLAW_APPROVALS=ask and answer at /approvals, then restart the gateway",
		AllowTool: "add the tool to BARECLAW_ALLOWED_TOOLS",
		UndoModel: "/model default", UndoMode: "/mode reset", Undo: "over HTTP with PATCH /channels/{key} and an empty value",
	}
}

func (e *engine) recover() error {
	if err := e.manager.Recover(context.Background()); err != nil {
		return fmt.Errorf("take up messages of the earlier process: %w", err)
	}
	return nil
}

func (e *engine) stop(why stopReason) (err error) {
	if e.manager != nil {
		e.manager.Detach()
		e.hosts.LeaveSpares()
		if why == endingSessions {
			err = e.endHosts()
		}
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
	return nil
}

func (e *engine) health(h *api.Health) {
	addProblem(h, e.sessions.Problem())
}

func (e *engine) openRecords() (err error) {
	if e.ledger, err = ledger.Open(filepath.Join(e.cfg.StateDir, "ledger.db"), e.log); err != nil {
		return err
	}
	if e.generation, err = e.ledger.NextGeneration(context.Background()); err != nil {
		return err
	}
	e.sessions, err = sessionfile.Open(e.cfg.SessionFile, e.log)
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
		StateDir: e.cfg.StateDir, RuntimeDir: e.cfg.RuntimeDir, Self: e.self, Dir: e.cfg.CWD,
		Env:     append(claude.Environ(os.Environ(), e.cfg.PassEnv), client.SocketVariable+"="+client.Socket(e.cfg)),
		Program: e.agent.program,
		Launch: claude.Launch{
			MaxTurns: e.cfg.MaxTurns, MaxBudgetUSD: e.cfg.MaxBudgetUSD, AllowedTools: strings.Join(e.cfg.AllowedTools, ","), Model: e.cfg.Model,
			PermissionMode: e.cfg.PermissionMode, AppendSystemPrompt: e.prompt(),
		},
		ConfigDir: configDir, Lasting: e.agent.kind == config.AgentClaude,
		Generation: e.generation, StartTimeout: e.cfg.StartTimeout, IdleTimeout: e.cfg.IdleTimeout, Log: e.log,
		Spares: e.cfg.WarmSpares, MemoryFree: memory.Available,
	})
}
