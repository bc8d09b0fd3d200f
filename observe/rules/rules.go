// Package rules says what is wrong with requests to a web app. A [Rule] looks at one request at a
// time, beside the latest ones to the same endpoint, and does not know what was found before.
package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"bareclaw/observe/capture"
)

// A Severity says how bad a problem is.
type Severity string

// The severities.
const (
	Critical Severity = "critical"
	Warning  Severity = "warning"
	Info     Severity = "info"
)

// A Category says what a problem is about.
type Category string

// The categories.
const (
	Security    Category = "security"
	Performance Category = "performance"
	Reliability Category = "reliability"
)

// A Rule finds one kind of problem.
type Rule struct {
	ID       string
	Category Category
	Severity Severity
	Title    string // what is wrong, in a few words
	Advice   string // what to do about it, as a sentence
	// Needs is the evidence without which a request says nothing for or against a problem.
	Needs capture.Evidence
	// Check returns the problems of a request. A request is only matched by what it did itself:
	// where a rule goes by an average, the request must be over the limit too. So a request after
	// a fix matches nothing, whatever earlier ones did.
	Check func(s *Subject) []Match
	// OfKind says that a reply is evidence about replies of its own kind, errors or not. Only the reply to the same
	// request as the one that has the problem is evidence whatever its kind: that request shows it no more.
	OfKind bool
	// clears reports whether a request without a match is evidence that the problem is gone; nil: each
	// that has what the rule needs.
	clears func(s *Subject) bool
}

// Clean reports whether the request, in which Check has found nothing, is evidence that the problem is
// gone: a reply with an error says nothing of what the endpoint returns otherwise.
func (r *Rule) Clean(s *Subject) bool {
	if !s.Request.Evidence.Has(r.Needs) {
		return false
	}
	return r.clears == nil || r.clears(s)
}

// All returns the rules, in the order of their ids. SecurityID is none of them.
func All() []Rule {
	return []Rule{
		corsCredentials,
		crossEndpoint,
		duplicate,
		unhandledError,
		errorHotspot,
		errorInfoLeak,
		exposedSecret,
		highRows,
		insecureCookie,
		largeResponse,
		n1,
		queryHeavy,
		redundantQuery,
		regression,
		responseOverfetch,
		responsePIILeak,
		selectStar,
		sensitiveLogs,
		slow,
		stackTraceLeak,
		tokenInURL,
	}
}

// Global is the endpoint of a match that concerns the whole app.
const Global = "global"

// A Match is a problem that a request has.
type Match struct {
	Endpoint    string // empty: that of the request
	Description Description
	// Likely says that values are unknown that would prove the problem.
	Likely bool
}

// A Description says what is wrong, with figures that may differ from request to request.
type Description struct {
	Text  string // for people
	known string // Text without its figures
}

// A Figure is a part of a description that does not tell problems apart, such as a count.
type Figure string

// Count returns the figure of a number.
func Count(n int) Figure { return Figure(fmt.Sprint(n)) }

// Describe returns a description in the words of format, with args as fmt.Sprintf has them. Descriptions
// that differ in figures alone are of the same problem.
func Describe(format string, args ...any) Description {
	known := make([]any, len(args))
	for i, arg := range args {
		if _, isFigure := arg.(Figure); isFigure {
			arg = Figure("#")
		}
		known[i] = arg
	}
	return Description{
		Text:  fmt.Sprintf(format, args...),
		known: fmt.Sprintf(format, known...),
	}
}

// FindingID names the problem that a rule has found at an endpoint: 16 hex digits, the same after a
// restart of the observer and for other figures.
func FindingID(rule, endpoint string, d Description) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{rule, endpoint, d.known}, "\x00")))
	return hex.EncodeToString(sum[:8])
}
