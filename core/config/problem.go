package config

import (
	"errors"
	"fmt"
	"strconv"
)

// A Problem is one thing that is wrong with the configuration. The error of
// [Load] joins them all; each can be found with errors.As.
type Problem struct {
	Source   string // the variable's name, or the file's path and line
	Problem  string // what is wrong; never holds a secret
	Accepted string // what would be right; may be empty
}

// Error is one line for the person who set the variable.
func (p *Problem) Error() string {
	if p.Accepted == "" {
		return p.Source + ": " + p.Problem
	}
	return p.Source + ": " + p.Problem + "; accepted: " + p.Accepted
}

// problems gathers what is wrong in the order it was found.
type problems []error

func (p *problems) add(source, accepted, format string, args ...any) {
	*p = append(*p, &Problem{Source: source, Problem: fmt.Sprintf(format, args...), Accepted: accepted})
}

// check records err, if there is one, against a variable.
func (p *problems) check(source, accepted string, err error) {
	if err != nil {
		p.add(source, accepted, "%v", err)
	}
}

func (p problems) err() error { return errors.Join(p...) }

// shownBytes is how much of a bad value an error repeats.
const shownBytes = 60

// quoted is a value from outside as an error may show it: on one line, escaped
// and short.
func quoted(value string) string {
	if len(value) > shownBytes {
		return strconv.Quote(value[:shownBytes]) + "…"
	}
	return strconv.Quote(value)
}
