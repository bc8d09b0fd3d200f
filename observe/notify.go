package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"bareclaw/internal/mdtext"
	"bareclaw/internal/wait"
	"bareclaw/observe/findings"
)

// gatherTime is how long findings are gathered that people are told together.
const gatherTime = 10 * time.Second

// Pauses between two attempts to reach the gateway.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

const (
	// maxShownChanges is how many findings of a push are told in full.
	maxShownChanges = 8
	// maxShownText bounds what is told of a finding, in UTF-16 units.
	maxShownText = 300
)

// Pushes are what people have to be told.
type Pushes interface {
	NextPush() (findings.Push, bool)
	Delivered(findings.Push)
}

// A Notifier tells people on a channel what was found.
type Notifier struct {
	Pushes  Pushes
	Changed <-chan struct{} // has a value when there may be a push
	Gateway Gateway
	Channel string
	App     string // what people call the app
	Log     *slog.Logger
}

// Run tells people until ctx ends. A push that the gateway does not take is tried again, with growing
// pauses, and without an end: the gateway or the chat may be away for days. What was found meanwhile is the next push.
func (n *Notifier) Run(ctx context.Context) {
	var pace messagePace
	for ctx.Err() == nil {
		push, ok := n.Pushes.NextPush()
		if ok {
			n.tell(ctx, push)
			_ = wait.Sleep(ctx, pace.count(time.Now())) // an error means that ctx has ended
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-n.Changed:
			_ = wait.Sleep(ctx, gatherTime) // an error means that ctx has ended
		}
	}
}

// Finish tells people what they are to be told still, without a pause before, and reports whether there was anything. What the
// gateway does not take at once is kept for the next observer: then there is an error. Run must have returned before.
func (n *Notifier) Finish(ctx context.Context) (told bool, err error) {
	for {
		push, ok := n.Pushes.NextPush()
		if !ok {
			return told, nil
		}
		if err := n.send(ctx, push); err != nil {
			return told, err
		}
		told = true
	}
}

// send sends a push once. One that the gateway will never take is forgotten.
func (n *Notifier) send(ctx context.Context, push findings.Push) error {
	err := n.Gateway.Push(ctx, push.Key, n.Channel, n.text(push))
	if err == nil || errors.As(err, new(*RefusedError)) {
		n.Pushes.Delivered(push)
	}
	return err
}

// tell tells people of a push, unless the findings are cleared before, or keeps it if ctx ends before.
func (n *Notifier) tell(ctx context.Context, push findings.Push) {
	backoff := wait.Backoff{First: firstRetry, Most: lastRetry}
	for {
		err := n.send(ctx, push)
		refused := (*RefusedError)(nil)
		switch {
		case err == nil:
			return
		case errors.As(err, &refused):
			n.Log.Error("the gateway does not tell what was found", "channel", n.Channel, "err", err)
			return
		case backoff.Failures() == 0 && ctx.Err() == nil:
			n.Log.Warn("the gateway cannot tell now what was found, and is asked again", "err", err)
		}
		if backoff.Sleep(ctx) != nil {
			return
		}
		next, ok := n.Pushes.NextPush()
		if !ok || next.Key != push.Key {
			return
		}
	}
}

// text returns what people read, in Markdown, the same for the same push. Words of the app are code: elsewhere a chat makes links
// of names, addresses and commands.
func (n *Notifier) text(push findings.Push) string {
	var news, resolved []findings.Change
	for _, c := range push.Changes {
		if c.Kind == findings.ResolvedNews {
			resolved = append(resolved, c)
		} else {
			news = append(news, c)
		}
	}
	var b strings.Builder
	if len(news) > 0 {
		fmt.Fprintf(&b, "**%s** in %s\n", mdtext.Count(len(news), "problem", "problems"), quote(n.App))
		for _, c := range news[:min(len(news), maxShownChanges)] {
			b.WriteString(line(c))
		}
		if more := len(news) - maxShownChanges; more > 0 {
			fmt.Fprintf(&b, "- and %d more\n", more)
		}
		if advice := news[0].Finding.Advice; len(news) == 1 && advice != "" {
			fmt.Fprintf(&b, "%s\n", mdtext.Literal(advice))
		}
	}
	if len(resolved) > 0 {
		titles := make([]string, 0, len(resolved))
		for _, c := range resolved[:min(len(resolved), maxShownChanges)] {
			titles = append(titles, fmt.Sprintf("%s on %s", mdtext.Literal(c.Finding.Title), quote(c.Finding.Endpoint)))
		}
		if more := len(resolved) - maxShownChanges; more > 0 {
			titles = append(titles, fmt.Sprintf("%d more", more))
		}
		fmt.Fprintf(&b, "Resolved in %s: %s\n", quote(n.App), strings.Join(titles, "; "))
	}
	return strings.TrimSpace(b.String())
}

// line tells of a finding that is not resolved.
func line(c findings.Change) string {
	f := &c.Finding
	how := ""
	switch c.Kind {
	case findings.Reopened:
		how = " (came back)"
	case findings.StillThere:
		how = " (still there after the fix)"
	case findings.GivenUp:
		how = fmt.Sprintf(" (not fixed in %d attempts, and nobody is asked again)", findings.MaxRounds)
	}
	certain := ""
	if f.Likely {
		certain = "likely "
	}
	severity := mdtext.Literal(mdtext.Brief(string(f.Severity), maxShownText))
	return fmt.Sprintf("- %s%s%s: %s, on %s, %s\n", certain, severity, how,
		quote(mdtext.Stopless(f.Description)), quote(f.Endpoint), quote(f.ID))
}

// quote shows words of the app, shortened.
func quote(words string) string { return mdtext.Code(mdtext.Brief(words, maxShownText)) }
