package botapi

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// A request is one call while it is carried out. Its methods, but for
// getUpdates, run with the server's lock held.
type request struct {
	params
	s      *Server
	ctx    context.Context // ends with the client's connection
	method method
	call   *Call
}

func (r *request) text(name string) string { return r.values[name] }

// integer reads a number. Telegram takes what is none for 0 without a word.
func (r *request) integer(name string) int64 {
	text := r.values[name]
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.violate("%s is %q, not an integer", name, text)
	}
	return n
}

// boolean reads a truth value. Telegram takes what is none for false.
func (r *request) boolean(name string) bool {
	switch text := strings.ToLower(r.values[name]); text {
	case "true", "1", "yes":
		return true
	case "", "false", "0", "no":
	default:
		r.violate("%s is %q, not a boolean", name, text)
	}
	return false
}

// decode parses a nested parameter into dest and reports whether there was one.
func (r *request) decode(name string, dest any) (bool, error) {
	text := r.values[name]
	if text == "" {
		return false, nil
	}
	return true, json.Unmarshal([]byte(text), dest)
}

func (r *request) violate(format string, args ...any) {
	r.s.violateLocked(r.method.name+": "+format, args...)
}

// checkNames finds parameters that the method does not have.
func (r *request) checkNames() {
	known := strings.Fields(r.method.params)
	for name := range r.values {
		if !slices.Contains(known, name) {
			r.violate("there is no parameter %q; Telegram ignores it", name)
		}
	}
}
