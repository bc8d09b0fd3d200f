package rules

import (
	"net/http"
	"strings"

	"bareclaw/observe/capture"
)

var stackTraceLeak = Rule{
	ID:       "stack-trace-leak",
	Category: Security,
	Severity: Critical,
	Title:    "Stack trace in a response",
	Advice:   "Handle errors in one place that logs the stack trace and returns a message without it.",
	Needs:    capture.Response | capture.Body,
	Check:    checkStackTraceLeak,
	Proof:    ByKind,
	clears:   hasBody,
}

// hasBody reports whether the response may have a body, which shows what responses of its kind look like.
func hasBody(s *Subject) bool { return s.Request.Status > 0 && s.Request.Method != http.MethodHead }

// A traceForm is how the stack traces of a language look.
type traceForm struct {
	language string
	part     string // stands in each of them, in lowercase
	form     *expression
}

// In HTML and JSON, a line may begin after a tag or an escape.
const lineBegin = `(?:^|[\s>;]|\\n|\\t)`

var (
	javaScriptTrace = expression{text: lineBegin + `at\s+(?:[^\n()]*\()?(?:file://|node:|webpack-internal:|webpack:|[A-Za-z]:\\|/|\./)[^\s()]*:\d+:\d+` +
		`|` + lineBegin + `at\s+(?:async\s+)?(?:Module\._compile|(?:process\.)?processTicksAndRejections)\b`}
	pythonTrace = expression{text: `Traceback \(most recent call last\)|File (?:\\?"|&quot;|&#34;)[^\n"&]+(?:\\?"|&quot;|&#34;), line \d+`}
	goTrace     = expression{text: `goroutine \d+ \[[^\]\n]*\]:`}
	javaTrace   = expression{text: lineBegin + `at\s+[\w$./@]+\.[\w$<>&;]+\([\w$]+\.(?:java|kt|scala|groovy|clj):\d+\)`}
	rubyTrace   = expression{text: `\.rb:\d+:in\s`}
	phpTrace    = expression{text: `#\d+\s+[^\s()]+\.php\(\d+\)|\sin\s+(?:<b>)?[^\s<>]+\.php(?:</b>)?(?::\d+|\s+on line\s+(?:<b>)?\d+)`}
	dotNetTrace = expression{text: lineBegin + `at\s[^\n]*\sin\s[^\n]*\.(?:cs|vb|fs|cshtml|razor):line \d+`}
)

// traceForms returns how the stack traces of languages look.
func traceForms() []traceForm {
	return []traceForm{
		{"JavaScript", "at ", &javaScriptTrace},
		{"Python", "line ", &pythonTrace},
		{"Python", "traceback ", &pythonTrace},
		{"Go", "goroutine ", &goTrace},
		{"Java", "at ", &javaTrace},
		{"Ruby", ".rb:", &rubyTrace},
		{"PHP", ".php", &phpTrace},
		{".NET", ":line ", &dotNetTrace},
	}
}

func checkStackTraceLeak(s *Subject) []Match {
	var matches []Match
	body := traceText(s)
	for _, form := range traceForms() {
		if form.isIn(body) {
			matches = append(matches, Match{Description: Describe("The response shows a %s stack trace.", form.language)})
		}
	}
	return distinct(matches)
}

func (f *traceForm) isIn(text string) bool {
	for window := range around(text, f.part) {
		if f.form.pattern().MatchString(window) {
			return true
		}
	}
	return false
}

// traceText returns the part of the body where a stack trace is a leak. A page may well be about one, and
// so may a text in JSON: in a response that is no error, it must begin the body, or be the value of a field for it.
func traceText(s *Subject) string {
	if isErrorReply(s.Request) {
		return string(s.Request.Received.Body)
	}
	if s.receivedJSON() == nil {
		body := s.Request.Received.Body
		return string(body[:min(len(body), TraceHeadBytes)])
	}
	var text strings.Builder
	walk(s.receivedJSON(), SecretScanArrayLimit, func(key string, value any) {
		switch strings.ToLower(key) {
		case "stack", "stacktrace", "stack_trace", "trace", "traceback":
			writeStrings(&text, value)
		}
	})
	return text.String()
}

// writeStrings writes a string, or those of a list, each on its own line.
func writeStrings(b *strings.Builder, value any) {
	switch v := value.(type) {
	case string:
		b.WriteByte('\n')
		b.WriteString(v)
	case []any:
		for _, item := range v {
			line, _ := item.(string)
			b.WriteByte('\n')
			b.WriteString(line)
		}
	}
}
