package commands

import (
	"context"
	"fmt"
	"strings"

	"bareclaw/internal/mdtext"
)

// Bounds of what /mounts shows.
const (
	mountsShown  = 30
	problemUnits = 300 // of the problem of a server, in UTF-16 units
)

// Mounts are the servers of other people whose tools the gateway offers.
type Mounts interface {
	// MountedServers returns the servers, by name, and what is wrong with the file that describes them, in a sentence; empty: nothing.
	MountedServers() (all []MountedServer, problem string)
}

// A MountedServer is a server of other people.
type MountedServer struct {
	Name    string
	State   string // in a word, such as running
	Problem string // why it cannot be used, in the words of others; empty: it can
	Tools   int    // that it offers
	Asks    int    // how many of them ask a person
	Changed int    // how many have changed, and ask anew
	LeftOut int    // how many others are not offered
}

// MountsCommand returns the command /mounts, which shows the mounted servers.
func MountsCommand(all Mounts) Command {
	return Command{
		Name:   "mounts",
		Help:   "the servers of other people that Claude has tools of",
		Access: Reads,
		Show:   func(context.Context, Call) (Note, error) { return Note{Text: mountsNote(all.MountedServers())}, nil },
	}
}

func mountsNote(all []MountedServer, problem string) string {
	var b strings.Builder
	if len(all) == 0 {
		b.WriteString("No servers of other people are mounted. A person mounts one at a terminal: `bareclaw mount add`.")
	} else {
		b.WriteString(mdtext.Count(len(all), "server of other people is", "servers of other people are") + " mounted. `/tools WORDS` finds their tools.\n\n")
	}
	shown := all[:min(len(all), mountsShown)]
	for i := range shown {
		b.WriteString("- " + shown[i].text() + "\n")
	}
	if more := len(all) - len(shown); more > 0 {
		fmt.Fprintf(&b, "\nAnd %d more: `bareclaw mount list` lists all.", more)
	}
	if problem != "" {
		b.WriteString("\n" + mdtext.Literal(mdtext.Brief(problem, problemUnits)))
	}
	return b.String()
}

// text returns the server as Markdown.
func (s *MountedServer) text() string {
	facts := []string{mdtext.Literal(s.State)}
	if s.Tools > 0 {
		facts = append(facts, mdtext.Count(s.Tools, "tool", "tools"))
		facts = append(facts, fmt.Sprintf("%d of them ask before they run", s.Asks))
	}
	if s.Changed > 0 {
		facts = append(facts, fmt.Sprintf("%d changed, and ask anew", s.Changed))
	}
	if s.LeftOut > 0 {
		facts = append(facts, fmt.Sprintf("%d left out", s.LeftOut))
	}
	text := mdtext.Code(mdtext.Brief(s.Name, nameUnits)) + ": " + strings.Join(facts, ", ")
	if s.Problem != "" {
		text += ": " + mdtext.Literal(mdtext.Brief(s.Problem, problemUnits))
	}
	return text
}
