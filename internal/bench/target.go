package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// errCannotSee is why a scenario has no figures of a server: it cannot do what is
// measured, or the system does not show it.
var errCannotSee = errors.New("it cannot be seen")

// A target is a kind of server to measure.
type target struct {
	name     string
	baseline bool
	command  []string // starts it
	claude   string   // what it finds as claude
	settings []string // NAME=value for its environment
	health   bool     // it is ready when GET /health says 200, else when it answers at all
}

// targets builds what is measured: the baseline, if any, then ours.
func (l *lab) targets(ctx context.Context, o options) ([]target, error) {
	program := o.program
	if program == "" {
		program = filepath.Join(l.dir, "bin", "bareclaw")
		if err := build(ctx, program, "bareclaw"); err != nil {
			return nil, err
		}
	}
	l.claude = filepath.Join(l.dir, "bin", "claude")
	if err := build(ctx, l.claude, "bareclaw/internal/testkit/fakeclaude"); err != nil {
		return nil, err
	}
	ours := target{name: "bareclaw", command: []string{program}, claude: l.claude, health: true}
	base := target{name: "baseline", baseline: true, claude: l.claude}
	if o.baselineCmd == "" {
		return []target{ours}, nil
	}
	base.command = []string{"/bin/sh", "-c", "exec " + o.baselineCmd}
	if o.baselineClaude != "" {
		base.claude = o.baselineClaude
	}
	return []target{base, ours}, nil
}

// build compiles a package of this module, as `make build` does.
func build(ctx context.Context, program, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build does
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build %s: %w", pkg, err)
	}
	return nil
}
