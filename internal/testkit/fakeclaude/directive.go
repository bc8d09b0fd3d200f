package main

import (
	"strconv"
	"strings"
)

// A directive is one parsed line of a message; see the package comment.
type directive struct {
	name string
	n    int    // MS, N, CODE or STATUS; -1 when left out
	arg  string // TEXT, FILE, NAME, COMMAND or DIRECTIVE
}

// shape says what follows a directive's word.
type shape int

const (
	bare        shape = iota
	text              // anything, not empty
	anything          // anything, or nothing
	number            // a number
	maybeNumber       // a number, or nothing
	numberText        // a number, then anything
	fileText          // a path without spaces, then anything
)

func shapeOf(name string) (shape, bool) {
	switch name {
	case "prompt", "size", "history", "pid", "args", "session", "notloggedin", "kill", "vanish", "mute", "rubbish":
		return bare, true
	case "echo", "env", "wait", "toolwait", "ticks":
		return text, true
	case "noresult":
		return anything, true
	case "events", "big", "apierror", "resultdie", "die", "longline", "stderr":
		return number, true
	case "maxturns":
		return maybeNumber, true
	case "slow", "tool", "leave", "background", "edit":
		return numberText, true
	case "once", "call", "interim", "parts":
		return fileText, true
	}
	return bare, false
}

// findDirective returns the first directive among the lines of a message, or
// one named "" when there is none.
func findDirective(message string) directive {
	for line := range strings.Lines(message) {
		if d, ok := parseDirective(strings.TrimRight(line, "\r\n")); ok {
			return d
		}
	}
	return directive{}
}

func parseDirective(line string) (directive, bool) {
	name, rest, _ := strings.Cut(line, " ")
	s, known := shapeOf(name)
	if !known {
		return directive{}, false
	}
	d := directive{name: name, n: -1, arg: rest}
	count := func(s string) (int, bool) {
		n, err := strconv.Atoi(s)
		return n, err == nil && n >= 0
	}
	ok := true
	switch s {
	case bare:
		ok = rest == ""
	case text:
		ok = rest != ""
	case number:
		d.n, ok = count(rest)
	case maybeNumber:
		if rest != "" {
			d.n, ok = count(rest)
		}
	case numberText:
		var first string
		first, d.arg, _ = strings.Cut(rest, " ")
		d.n, ok = count(first)
	case fileText:
		file, _, found := strings.Cut(rest, " ")
		ok = found && file != ""
	}
	return d, ok
}

// withoutPrefix removes the gateway's "[channel: …]" line, if there is one.
func withoutPrefix(message string) string {
	if !strings.HasPrefix(message, "[channel: ") {
		return message
	}
	_, rest, found := strings.Cut(message, "\n")
	if !found {
		return message
	}
	return strings.TrimPrefix(rest, "\n")
}
