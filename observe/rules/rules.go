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
	// Proof says which replies are evidence that a problem of another one is gone, among those that clears takes.
	Proof Proof
	// Earlier says that the rule compares runs of the app: one in which it finds something is no measure for later ones.
	Earlier bool
	// clears reports whether a request without a match is evidence that the problem is gone; nil: each
	// that has what the rule needs.
	clears func(s *Subject) bool
	// about returns the problems about which such a request is evidence; nil: all of the rule.
	about func(s *Subject) []Match
	// hints returns the problems of which the request has too little to match, and too much to prove them gone;
	// nil: none.
	hints func(s *Subject) []Match
}

// A Proof says which replies are evidence about another one.
type Proof int

// The proofs. With all but ByAny, the reply to the same request is evidence whatever it is: that request shows the
// problem no more.
const (
	ByAny     Proof = iota
	ByKind          // errors by errors of the same status, others by others
	BySuccess       // those that are no errors
)

// Clean reports whether the request, in which Check has found nothing, is evidence that the problem is
// gone: a reply with an error says nothing of what the endpoint returns otherwise.
func (r *Rule) Clean(s *Subject) bool {
	if !s.Request.Evidence.Has(r.Needs) {
		return false
	}
	return r.clears == nil || r.clears(s)
}

// About returns the problems about which a clean request is evidence; nil: all of the rule.
func (r *Rule) About(s *Subject) []Match {
	if r.about == nil {
		return nil
	}
	return append([]Match{}, r.about(s)...)
}

// Hints returns the problems that a clean request does not prove gone, as it has something of them.
func (r *Rule) Hints(s *Subject) []Match {
	if r.hints == nil {
		return nil
	}
	return r.hints(s)
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
