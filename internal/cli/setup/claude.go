package setup

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"bareclaw/core/config"
	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/getclaude"
	"bareclaw/internal/steps"
	"bareclaw/internal/term"
)

const installClaude = "install Claude Code with " + getclaude.Advice

func findClaude(ctx context.Context, w *wizard) (steps.Outcome, error) {
	if w.current(varAgent) == string(config.AgentEcho) {
		return steps.Skipped("the echo agent answers, which repeats what it is told (BARECLAW_AGENT=echo)"), nil
	}
	for {
		path, byName := lookForClaude(w)
		without := steps.Trouble("Claude Code was not found; the echo agent answers until it is there. It cannot think, and says so.", installClaude+"; then run this again")
		if refusal, refused := notClaude(ctx, w, path); refused {
			without = refusal
			w.claude, _ = lookForClaude(w) // the further steps use the claude of the settings
		} else if ctx.Err() == nil && path != "" {
			w.claude = path
			if !byName && w.current(varClaude) != path { // the gateway would not find it by name
				if err := w.choose(varClaude, path); err != nil {
					return steps.Outcome{}, err
				}
			}
			return steps.Unchanged("found " + term.SafeLine(path)), nil
		}
		if !w.asks() {
			return steps.Outcome{}, cmp.Or(ctx.Err(), error(without))
		}
		if path != "" {
			w.note("%s", term.SafeLine(without.Detail))
		} else {
			w.note("Claude Code was not found on the PATH or where it usually is. To get it:")
			w.note("  %s.", installClaude)
		}
		answer, err := w.ask(ctx, steps.Question{
			Text: "Enter looks again, or give the path of claude, or s to go on without",
			Help: "Without Claude Code all works but thinking: the built-in echo agent repeats what it is told.",
		})
		switch {
		case errors.Is(err, steps.ErrSkipped):
			without.State = steps.StateSkipped
			return without, nil
		case err != nil:
			return steps.Outcome{}, err
		case answer != "":
			w.choices[varClaude] = answer
		}
	}
}

// notClaude checks a newly chosen program, and drops the choice with a reason if the
// program is not Claude Code: a working gateway would stop answering. The doctor reports
// older choices.
func notClaude(ctx context.Context, w *wizard, path string) (_ steps.Outcome, refused bool) {
	if chosen := w.choices[varClaude]; path == "" || chosen == "" || chosen == w.set(varClaude) {
		return steps.Outcome{}, false
	}
	found := doctor.Claude(ctx, doctor.Options{Environ: w.environ}, path)
	if found.Code != "claude_broken" {
		return steps.Outcome{}, false
	}
	delete(w.choices, varClaude)
	return steps.Trouble(term.SafeSentence(found.What)+" "+found.Why+" It is not taken.", "give the path of Claude Code, as `command -v claude` prints it"), true
}

// lookForClaude returns the path of the CLI, empty if missing, and whether the gateway finds the
// CLI by the configured name.
func lookForClaude(w *wizard) (path string, byName bool) {
	name := cmp.Or(w.current(varClaude), "claude")
	if config.Check(varClaude, name) != nil {
		return "", false
	}
	if path, err := exec.LookPath(expandHome(name)); err == nil {
		abs, err := filepath.Abs(path)
		return abs, err == nil
	}
	for _, path := range usualPlaces() {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, false
		}
	}
	return "", false
}

func expandHome(path string) string {
	home, err := os.UserHomeDir()
	if err == nil && len(path) > 1 && path[:2] == "~/" {
		return home + path[1:]
	}
	return path
}

// usualPlaces returns the programs in the directories that installers use outside of the PATH.
func usualPlaces() (paths []string) {
	for _, dir := range []string{
		"$NPM_CONFIG_PREFIX/bin", "$HOME/.local/bin", "$HOME/.claude/local", "$HOME/.claude/bin",
		"$HOME/.npm-global/bin", "$HOME/.npm/bin", "$HOME/.npm-packages/bin", "$HOME/.bun/bin", "$HOME/.volta/bin", "$HOME/node_modules/.bin",
		"$HOME/.nvm/versions/node/*/bin", "$HOME/.local/share/fnm/node-versions/*/installation/bin",
		"/usr/local/bin", "/opt/homebrew/bin",
	} {
		found, _ := filepath.Glob(os.ExpandEnv(dir) + "/claude") // fails for bad patterns only
		paths = append(paths, found...)
	}
	return paths
}
