package observe

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/url"
	"os"
	"runtime/debug"

	"bareclaw/internal/cli/command"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/memory"
	"bareclaw/internal/term"
	"bareclaw/observe"
	"bareclaw/observe/discovery"
)

// Run observes a web app.
type Run struct {
	Target     string         `placeholder:"URL" help:"Where an app answers that something else starts, such as http://localhost:3000."`
	Port       int            `placeholder:"N" help:"The port to open the app at. The one that it had before, or a free one, unless it is given."`
	Channel    string         `placeholder:"KEY" help:"The channel that is told what is found: that of the session that runs this, or BARECLAW_OBSERVE_NOTIFY, unless it is given."`
	Notify     observe.Notify `enum:"tell,fix,off" default:"tell" help:"tell: tell people on the channel. fix: also ask its agent to fix what is found, which costs money. off: only keep it."`
	Detach     bool           `help:"Go on in the background when the app can be opened, until bareclaw observe stop."`
	Instrument string         `enum:"auto,off" default:"auto" help:"auto: load OpenTelemetry into an app for Node.js that has it installed. off: leave the app as it is."`
	JSON       bool           `name:"json" help:"Print JSON when the app can be opened."`
	Command    []string       `arg:"" optional:"" help:"The command that starts the app, after --."`
}

// Help is shown below the summary.
func (*Run) Help() string {
	return "The app runs below this command, with its output, and is opened at the address that is printed. What passes there is looked at: problems are kept in .brakit in the app's directory, told on a channel, and shown by the tool get_findings. " +
		"An app that sends OpenTelemetry to this observer, which its environment names, is also looked at from inside: queries, errors and logs. Running this again in the same directory starts the app anew.\n\n" +
		"Examples:\n\n  bareclaw observe -- npm start\n\n  bareclaw observe --detach --channel tg-123456789 -- npm run dev\n\n  bareclaw observe --target http://localhost:3000"
}

// Validate refuses flags that exclude each other.
func (r *Run) Validate() error {
	switch {
	case len(r.Command) == 0 && r.Target == "":
		return command.Usagef("observe what? Give the command that starts the app, after --, or --target with the address of one that runs")
	case r.Port < 0 || r.Port > 65535:
		return command.Usagef("--port must be from 1 to 65535")
	}
	return nil
}

// Run runs the command.
func (r *Run) Run(c *command.Context) error {
	p, err := find(c)
	if err != nil {
		return err
	}
	if r.Detach {
		return r.detach(c, p)
	}
	log, err := observe.DetachedLog(p.records, p.dir)
	if err != nil {
		return fmt.Errorf("open the log of the observer: %w", err)
	}
	if log != nil {
		defer func() { _ = log.Close() }()
		c.Out = log
		c.Err = log
	}
	o, err := r.options(c, p)
	if err != nil {
		return err
	}
	if log != nil {
		o.Output = log
	}
	unheard := p.unheard(c, o.Channel) // now: the gateway asks each observer, and this one does not answer yet when it is ready
	keepSmall()
	keepWriting()
	ctx, stop := untilEnded(c.Context)
	defer stop()
	err = observe.Run(ctx, o, observe.Events{
		Ready: func(record discovery.Record) { _ = r.tellReady(c, &o, record, unheard) }, // without a reader the app goes on
		Found: func(u *url.URL, run int) {
			if run > 1 {
				c.Tellf("The app has started again, and answers at %s.", u)
			}
		},
		Ended: func(exit *observe.ExitError) {
			c.Tellf("%s So its observer ends too.", term.SafeSentence(mdtext.Ended(exit.Error())))
		},
		Told: func() { c.Tellf("What was found last is told on the channel %s.", term.SafeLine(o.Channel)) },
	})
	exit, ok := errors.AsType[*observe.ExitError](err)
	switch {
	case !ok:
		return err
	case exit.Status == 0:
		return nil
	}
	return command.ExitWith(exit.Status)
}

const (
	// heapRoom is how much the heap may grow between two collections, in bytes. What an observer keeps is bounded.
	heapRoom = 4 << 20
	// memoryLimit is where the collector works harder, in bytes.
	memoryLimit = 40 << 20
)

// keepSmall bounds the memory of this process, and has nothing that packages log by themselves reach the terminal: net/http
// prints there what an app has sent.
func keepSmall() {
	memory.Pace(heapRoom)
	debug.SetMemoryLimit(memoryLimit)
	log.SetOutput(io.Discard)
}

// options returns what to observe.
func (r *Run) options(c *command.Context, p *place) (observe.Options, error) {
	o := observe.Options{
		Dir:        p.dir,
		Command:    r.Command,
		Port:       r.Port,
		Instrument: r.Instrument == "auto",
		Channel:    cmp.Or(r.Channel, p.channel),
		Notify:     r.Notify,
		Gateway:    observe.NewGateway(p.gateway),
		Records:    p.records,
		Refused:    p.refused,
		Environ:    c.Environ,
		Foreground: term.IsTerminal(c.In),
		Stdin:      os.Stdin,
		Stdout:     c.Out,
		Stderr:     c.Err,
		Log:        slog.New(slog.NewTextHandler(c.Err, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if r.Target == "" {
		return o, nil
	}
	var err error
	o.Target, err = observe.ParseTarget(r.Target)
	if err != nil {
		return o, command.Usagef("--target: %w", err)
	}
	return o, nil
}

// tellReady says where to open the app, and what becomes of what is found.
func (r *Run) tellReady(c *command.Context, o *observe.Options, record discovery.Record, unheard string) error {
	if r.JSON {
		return c.PrintJSON(record)
	}
	c.Tellf("Open the app at %s. What passes there is observed.", record.Proxy)
	switch {
	case o.Notify == observe.Off:
	case o.Channel == "":
		c.Tellf("Nobody is told what is found: name a channel with --channel, or in BARECLAW_OBSERVE_NOTIFY. The tool get_findings shows it.")
	case unheard != "":
		c.Tellf("%s", unheard)
	case o.Notify == observe.Fix:
		c.Tellf("Problems are told on the channel %s, and its agent is asked to fix them, which costs money.", term.SafeLine(o.Channel))
	default:
		c.Tellf("Problems are told on the channel %s.", term.SafeLine(o.Channel))
	}
	return nil
}
