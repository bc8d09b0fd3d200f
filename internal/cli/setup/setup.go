// Package setup takes somebody from a fresh program to a first answer, step by step
// (`bareclaw init`): claude, its login, settings, a Telegram bot and its owner, the
// service, a first message, the heartbeat, a look at everything.
//
// Each step says what it found or did, or why it failed and how to go on; then the
// next one runs where that makes sense. What is fine already stays as it is, so all of
// it can be run again at any time. The settings are written in one step, and never so
// that the gateway would refuse them: a bot's token only together with the id of
// somebody who may talk to it.
package setup

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"bareclaw/heartbeat/service"
)

// Options are what is chosen beforehand. The zero value asks for everything.
type Options struct {
	In      *os.File  // a terminal, unless Yes is set
	Out     io.Writer // what people read
	Yes     bool      // take what is given, else what is set, else defaults; ask nothing
	Self    string    // absolute path of this program's file
	Version string    // of this program
	Environ []string  // as it was before any .env was read
	EnvFile string    // the settings; empty: those of the user's configuration
	NoQR    bool

	Settings map[string]string // by variable, chosen on the command line

	NoTurn     bool
	NoTelegram bool
	NoService  bool
	NoStart    bool
	NoDoctor   bool
	Pair       bool          // wait for the owner's tap also where Yes is set or there is one
	PairFor    time.Duration // how long a code is good; 0: 5 minutes
	Heartbeat  string        // HeartbeatYes, HeartbeatRevive or HeartbeatNo; empty: ask, unless that was said before

	Service service.Manager // of this user
}

// A step is one thing that is done.
type step struct {
	name, title string
	run         func(context.Context) (Outcome, error)
}

// The steps that choose settings, which only a later one saves.
const (
	stepSettings = "settings"
	stepBot      = "telegram"
)

// A wizard is one run. Nothing of it is shared between goroutines.
type wizard struct {
	Options
	terminal *terminal // nil where nothing is asked

	path    string            // of the settings
	shadows map[string]string // what a .env that wins over them sets
	choices choices

	claude    string // path of the CLI; empty: none
	bot       bot    // the one whose token was accepted; its name is empty where there is none
	newOwner  int64  // who has become allowed in this run
	answered  bool   // claude has, so it has a login
	wrote     bool   // settings have changed
	portTaken bool
	launched  bool         // a gateway was started, which need not answer yet
	running   bool         // the gateway answers
	spec      service.Spec // of the service, once it was made
	firstCost float64      // of the first message, in US dollars; 0: not known
}

// Run carries out all steps. It returns what became of them also with an error, which
// is ctx's when it was interrupted, and a [*config.Problem] where a file of settings
// cannot be understood: nothing was changed then.
func Run(ctx context.Context, o Options) (Summary, error) {
	w := &wizard{Options: o, choices: choices{}}
	if !o.Yes {
		w.terminal = newTerminal(o.In, o.Out)
		defer w.terminal.restore()
	}
	if err := w.open(); err != nil {
		return Summary{}, err
	}
	summary := Summary{EnvFile: w.path}
	steps := w.steps()
	for i, s := range steps {
		if i > 0 {
			w.say("")
		}
		w.say("%d/%d %s", i+1, len(steps), s.title)
		outcome, err := s.run(ctx)
		if ctx.Err() != nil || errors.Is(err, errEnd) {
			w.interrupted(summary)
			return summary, context.Canceled
		}
		switch {
		case errors.Is(err, errSkip):
			outcome = skipped("as it is")
		case err != nil:
			outcome = failure(err)
			outcome.Next = cmp.Or(outcome.Next, "see what `bareclaw doctor` says")
		}
		outcome.Step = s.name
		w.show(outcome)
		summary.Steps = append(summary.Steps, outcome)
	}
	summary.OK = summary.fine()
	if w.bot.Username != "" {
		summary.Bot = w.bot.Username
	}
	summary.Owner, summary.Running = w.newOwner, w.running
	w.close(summary)
	return summary, nil
}

func (w *wizard) steps() []step {
	return []step{
		{"claude", "Claude Code", w.findClaude},
		{"login", "Its login", w.checkLogin},
		{stepSettings, "Settings", w.chooseSettings},
		{stepBot, "Telegram", w.chooseBot},
		{"save", "Saving", w.save},
		{"pairing", "Who may talk to the bot", w.pair},
		{"service", "Keeping it running", w.keepRunning},
		{"message", "A first message", w.firstMessage},
		{"heartbeat", "The heartbeat", w.offerHeartbeat}, // which knows what a message costs by then
		{"doctor", "A look at everything", w.lookAtAll},
	}
}
