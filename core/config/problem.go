package config

import (
	"errors"
	"fmt"
	"strconv"
)

// A Problem is a mistake in the configuration. The error of [Load] joins all problems; each
// can be found with errors.As.
type Problem struct {
	Source   string // the variable's name, or the file's path and line
	Problem  string // the mistake; never holds a secret
	Accepted string // valid values; may be empty
}

// Error describes the problem in a line, for the person who set the variable.
func (p *Problem) Error() string {
	if p.Accepted == "" {
		return p.Source + ": " + p.Problem
	}
	return p.Source + ": " + p.Problem + "; accepted: " + p.Accepted
}

// problems collects mistakes in the order of discovery.
type problems []error

func (p *problems) add(source, accepted, format string, args ...any) {
	*p = append(*p, &Problem{Source: source, Problem: fmt.Sprintf(format, args...), Accepted: accepted})
}

// check records err, if not nil, against a variable.
func (p *problems) check(source, accepted string, err error) {
	if err != nil {
		p.add(source, accepted, "%v", err)
	}
}

func (p problems) err() error { return errors.Join(p...) }

// shownBytes bounds the part of a bad value repeated in an error.
const shownBytes = 60

// quoted formats an outside value for an error: on a single line, escaped and short.
func quoted(value string) string {
	if len(value) > shownBytes {
		return strconv.Quote(value[:shownBytes]) + "…"
	}
	return strconv.Quote(value)
}
