package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/core/config"
)

// installHint says how to get the real agent.
const installHint = "Install Claude Code with `npm install -g @anthropic-ai/claude-code`, run `claude` once to log in, and restart the gateway."

// An agent is what answers messages on this machine.
type agent struct {
	kind    config.Agent // AgentClaude or AgentEcho
	path    string       // of claude, as far as it is known
	problem string       // for the log, /health and replies
	program func() ([]string, error)
}

// chooseAgent settles what answers: claude, or with BARECLAW_AGENT=auto the echo
// agent where there is no claude.
func chooseAgent(cfg config.Config, self string) agent {
	path, err := exec.LookPath(cfg.Claude)
	if cfg.Agent == config.AgentEcho || cfg.Agent == config.AgentAuto && err != nil {
		problem := "This is the echo agent, not Claude: BARECLAW_AGENT=echo is set."
		if cfg.Agent == config.AgentAuto {
			problem = fmt.Sprintf("This is the echo agent, not Claude: %q was not found. %s", cfg.Claude, installHint)
		}
		return agent{kind: config.AgentEcho, problem: problem,
			program: func() ([]string, error) { return []string{self, EchoSubcommand}, nil }}
	}
	a := agent{kind: config.AgentClaude, path: path}
	if err != nil {
		a.problem = missingClaude(cfg.Claude, err).Text
	}
	a.program = func() ([]string, error) {
		path, err := exec.LookPath(cfg.Claude) // it may have been installed or moved since
		if err != nil {
			return nil, missingClaude(cfg.Claude, err)
		}
		return []string{path}, nil
	}
	return a
}

func missingClaude(name string, err error) *core.AgentError {
	if errors.Is(err, fs.ErrPermission) {
		return &core.AgentError{Code: "agent_missing", Text: fmt.Sprintf("%s is not executable. Check BARECLAW_CLAUDE.", name)}
	}
	return &core.AgentError{Code: "agent_missing", Text: fmt.Sprintf("Claude Code was not found (looked for %q). %s Or set BARECLAW_CLAUDE to its path.", name, installHint)}
}

func (a agent) describe() string { return strings.TrimSpace(string(a.kind) + " " + a.path) }

func (a agent) health() api.Agent {
	return api.Agent{Kind: string(a.kind), Path: a.path, Problem: a.problem}
}

// greeting is what the first reply of each channel tells.
func (a agent) greeting() []core.Notice {
	if a.kind != config.AgentEcho {
		return nil
	}
	return []core.Notice{{Code: "echo_agent", Text: a.problem}}
}
