package mounts

import (
	"cmp"
	"errors"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"bareclaw/internal/mdtext"
)

// minSecret is the length of the shortest value that is hidden, in bytes: shorter ones are parts of other words.
const minSecret = 8

// A redactor hides the values that a server's description may have as secrets. It is safe for concurrent use.
type redactor struct{ replacer *strings.Replacer }

// expand returns a server with the values of this process's variables, and what hides them.
func expand(s *Server) (Server, *redactor, error) {
	var variables []string
	expanded, err := s.Expanded(func(name string) (string, bool) {
		value, ok := os.LookupEnv(name)
		if !slices.Contains(passedOn, name) { // each server sees these
			variables = append(variables, value)
		}
		return value, ok
	})
	if err != nil {
		return Server{}, nil, err
	}
	return expanded, newRedactor(&expanded, variables), nil
}

// newRedactor returns what hides the values of an expanded server, and those of variables in it.
func newRedactor(s *Server, variables []string) *redactor {
	values := slices.Clone(variables)
	for _, value := range s.Env {
		values = append(values, value)
	}
	for _, value := range s.Headers {
		values = append(values, value)
	}
	if address, err := url.Parse(s.URL); err == nil {
		for _, given := range address.Query() {
			values = append(values, given...)
		}
	}
	hidden := map[string]string{}
	for _, value := range values {
		for _, secret := range append(strings.Fields(value), value) {
			if len(secret) < minSecret {
				continue
			}
			for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
				hidden[form] = "***"
			}
		}
	}
	if s.URL != "" {
		hidden[s.URL] = s.Target()
	}
	return &redactor{replacerOf(hidden)}
}

// replacerOf returns a replacer that prefers longer texts.
func replacerOf(replaced map[string]string) *strings.Replacer {
	texts := make([]string, 0, len(replaced))
	for text := range replaced {
		texts = append(texts, text)
	}
	slices.SortFunc(texts, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, text := range texts {
		pairs = append(pairs, text, replaced[text])
	}
	return strings.NewReplacer(pairs...)
}

// hide returns a text without the values.
func (r *redactor) hide(text string) string { return r.replacer.Replace(text) }

// maxErrorWords bounds the words of an error, in UTF-16 units: servers write them.
const maxErrorWords = 2000

// A shownError has words for an error that can be shown.
type shownError struct {
	words string
	err   error
}

// Error implements error.
func (e *shownError) Error() string { return e.words }

// Unwrap returns the error, whose own words may be long, or have secrets.
func (e *shownError) Unwrap() error { return e.err }

// show returns an error with words that can be shown.
func (r *redactor) show(err error) error {
	words := err.Error()
	if failed, ok := errors.AsType[*url.Error](err); ok { // its words have the address
		words = failed.Err.Error()
		if errors.Is(failed.Err, io.EOF) {
			words = "the server has closed the connection"
		}
	}
	return &shownError{
		words: mdtext.Shorten(r.hide(words), maxErrorWords),
		err:   err,
	}
}
