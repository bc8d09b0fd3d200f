package schedule

import (
	"strings"
	"time"
	"unicode"
)

const stampLayout = "2006-01-02 15:04 MST"

// textOf is what the agent gets: the job's text under a line that says that it is no
// person who speaks now, and whether it comes late. A slash command stays alone, since
// the agent only knows one at the very beginning.
func textOf(j *Job, v verdict, now time.Time, zone *time.Location) string {
	if strings.HasPrefix(j.Text, "/") {
		return j.Text
	}
	line := "[schedule: " + j.ID + ", due " + v.due.In(zone).Format(stampLayout)
	if v.late {
		line += ", sent late at " + now.In(zone).Format(stampLayout)
	}
	return line + "]\n" + j.Text
}

// startOfDay is when the calendar day of t began.
func startOfDay(t time.Time) time.Time {
	year, month, d := t.Date()
	start := time.Date(year, month, d, 0, 0, 0, 0, t.Location())
	if start.Day() != d { // there is no such midnight
		start = start.Add(time.Hour)
	}
	return start
}

// says reports whether an answer consists of a word and nothing else. Marks of Markdown
// around the word, quotes and a full stop do not count.
func says(answer, word string) bool {
	bare := strings.TrimFunc(answer, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("*_~`\"'.", r) })
	return word != "" && bare == word
}

// plain returns a text without the control characters that are not sent to people.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// excerpt returns the beginning of a text.
func excerpt(text string) string {
	if runes := []rune(text); len(runes) > maxExcerpt {
		return string(runes[:maxExcerpt]) + "…"
	}
	return text
}
