package schedule

import (
	"strings"
	"time"
	"unicode"
)

const stampLayout = "2006-01-02 15:04 MST"

// textOf returns the text for the agent: the job's text below a line that names the
// schedule as the sender and notes a late delivery. A slash command stays without the
// line, since the agent recognizes a command only at the very beginning.
func textOf(j *Job, o *Occurrence, now time.Time, zone *time.Location) string {
	if strings.HasPrefix(j.Text, "/") {
		return j.Text
	}
	line := "[schedule: " + j.ID + ", due " + o.Due.In(zone).Format(stampLayout)
	if o.Late {
		line += ", sent late at " + now.In(zone).Format(stampLayout)
	}
	return line + "]\n" + j.Text
}

// startOfDay returns the beginning of t's calendar day.
func startOfDay(t time.Time) time.Time {
	year, month, d := t.Date()
	start := time.Date(year, month, d, 0, 0, 0, 0, t.Location())
	if start.Day() != d { // clocks skip midnight on the day
		start = start.Add(time.Hour)
	}
	return start
}

// says reports whether an answer consists only of word. Markdown marks around the word,
// quotes and full stops do not count.
func says(answer, word string) bool {
	bare := strings.TrimFunc(answer, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("*_~`\"'.", r) })
	return word != "" && bare == word
}
