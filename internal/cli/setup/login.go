package setup

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"bareclaw/core/config"
	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/steps"
	"bareclaw/sessionhost/claude"
)

// varLogin is the variable from which claude takes a login that `claude setup-token` has made.
const varLogin = claude.LoginVariable

func checkLogin(ctx context.Context, w *wizard) (steps.Outcome, error) {
	switch {
	case w.claude == "":
		return steps.Skipped("there is no claude to ask"), nil
	case w.NoTurn:
		return steps.Skipped("as asked (--no-turn)"), nil
	}
	ask, err := w.agree(ctx, "Ask Claude one small question, to see that it is logged in?", "It is one call of the model, with your login. Nothing of it is kept.")
	if err != nil || !ask {
		return steps.Skipped("not asked"), err
	}
	for {
		w.note("Asking Claude; this takes a few seconds, or up to a minute and a half if nothing answers …")
		found := oneTurn(ctx, w)
		if ctx.Err() != nil {
			return steps.Outcome{}, ctx.Err()
		}
		if found.Level == doctor.OK {
			w.answered = true
			return steps.DoneIf(w.current(varLogin) != w.saved(varLogin), found.What), nil
		}
		if !w.given(varLogin) {
			delete(w.choices, varLogin) // it is not known to work
		}
		failed := steps.Trouble(found.What, found.Command)
		if !w.asks() {
			return failed, nil
		}
		w.note("%s %s", found.What, found.Why)
		err := askAgain(ctx, w, found)
		switch {
		case errors.Is(err, steps.ErrSkipped):
			return failed, nil
		case err != nil:
			return steps.Outcome{}, err
		}
	}
}

// askAgain waits until the user has mended what is wrong. For a missing login it takes a token.
func askAgain(ctx context.Context, w *wizard, found doctor.Finding) error {
	if found.Code != "not_logged_in" {
		w.advise(found.Command)
		_, err := w.ask(ctx, steps.Question{Text: "Enter asks again, s goes on without", Help: "It can be mended later too: messages then wait until Claude answers."})
		return err
	}
	w.note("Log in: run `claude` in another terminal and press Enter here. Or, as on a machine without a browser, run `claude setup-token` on any machine and paste the token here.")
	for {
		token, err := w.ask(ctx, steps.Question{
			Text:   "Token, or Enter to ask Claude again; s goes on without",
			Secret: true,
			Help:   "The token is kept in " + w.path + ", which only you can read. What you type is not shown. It can be done later too: " + claude.LoginAdvice(w.path) + ".",
		})
		if err != nil || token == "" {
			return err
		}
		if err := takeLogin(w, token); err == nil {
			return nil
		}
		w.note("This does not look like a token.")
		w.advise("it is the line that `claude setup-token` prints at its end, as sk-ant-oat01-…")
	}
}

// takeLogin chooses a token. Only claude knows whether it is a good one.
func takeLogin(w *wizard, token string) error {
	if err := checkLoginToken(token); err != nil {
		return err
	}
	w.choices[varLogin] = token
	return nil
}

// checkLoginToken refuses what is certainly not a token, such as a text around it.
func checkLoginToken(token string) error {
	const shortest = 20
	if len(token) < shortest || strings.ContainsFunc(token, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsGraphic(r) || unicode.IsSpace(r) }) {
		return &config.Problem{Source: varLogin, Problem: "it is not a token", Accepted: "what `claude setup-token` prints at its end"}
	}
	return nil
}

// oneTurn lets claude answer in a temporary directory.
func oneTurn(ctx context.Context, w *wizard) doctor.Finding {
	var cfg config.Config
	cfg.Claude = config.Claude{
		Agent:   config.AgentClaude,
		Command: config.Command(w.claude),
		Model:   config.Model(w.current("BARECLAW_MODEL")),
		PassEnv: strings.Split(w.current("BARECLAW_PASS_ENV"), ","),
	}
	found := doctor.Turn(ctx, doctor.Options{Turn: true, Environ: w.claudeEnviron(), EnvFile: w.path, Report: config.Report{Config: cfg}})
	if found.Level == "" {
		return doctor.Finding{Level: doctor.Problem, What: "Claude could not be asked.", Command: "bareclaw doctor"}
	}
	return found
}

// claudeEnviron is the environment that the gateway will give to claude: that of this process, and
// where they are not in it the variables of the file of settings and the token that was chosen.
func (s *store) claudeEnviron() []string {
	environ := slices.Clone(s.environ)
	vars, _ := config.ReadDotEnv(s.path) // open has reported an error
	for name, value := range vars {
		if !isIn(environ, name) {
			environ = append(environ, name+"="+value)
		}
	}
	if token := s.choices[varLogin]; token != "" {
		environ = append(slices.DeleteFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, varLogin+"=") }), varLogin+"="+token)
	}
	return environ
}

func isIn(environ []string, name string) bool {
	return slices.ContainsFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
}
