package config

import (
	"slices"
	"strconv"
	"sync"
	"time"
)

// A kind is a class of settings with a common syntax. The args are the arguments of the
// field's kind tag.
type kind struct {
	accepted string // describes good values; empty: the args, with last before the last one
	last     string
	parse    func(m machine, text string, args []string) (any, error)
}

// of returns a kind without arguments whose parser needs only the text.
func of[T any](accepted string, parse func(string) (T, error)) kind {
	return kind{accepted, "", func(_ machine, text string, _ []string) (any, error) { return parse(text) }}
}

// at returns a kind whose parser resolves a path, and also accepts some words as they are.
func at(accepted string, parse func(machine, string) (string, error), words ...string) kind {
	return kind{accepted, "", func(m machine, text string, _ []string) (any, error) {
		if slices.Contains(words, text) {
			return text, nil
		}
		return parse(m, text)
	}}
}

// kinds returns the kinds of settings by name.
var kinds = sync.OnceValue(func() map[string]kind {
	const (
		host      = "an IP address or a host name, without a port"
		path      = "a path, absolute or starting with ~/"
		directory = "an existing directory, absolute or starting with ~/"
		duration  = "a duration, as 90s, 10m or 1h30m"
	)
	return map[string]kind{
		"int":    {"", " to ", parseIntSetting},
		"choice": {"", " or ", func(_ machine, text string, words []string) (any, error) { return oneOf(words, text) }},

		"bytes":             of("1KiB to 64MiB, as 32MiB, 10MB or 1048576", parseBodySize),
		"usd":               of("US dollars from 0 to 1000000, as 5 or 0.50, where 0 means any amount", parseDollars),
		"milliseconds":      of("milliseconds, where 0 means no limit", parseMillis),
		"duration":          of(duration+", of more than 0", durations(1)),
		"optional-duration": of(duration+", where 0 means for ever", durations(0)),
		"interval":          of("a duration of a minute or more, as 30m or 1h", durations(time.Minute)),
		"age":               of("days or a duration, as 30d or 12h, where 0 means for ever", parseAge),
		"level":             of("debug, info, warn or error", parseLevel),

		"host":       of(host, parseHost),
		"hosts":      of("a comma-separated list, each "+host, listOf(parseHost)),
		"url":        of("an http or https URL, as http://localhost:8081", parseBaseURL),
		"http-token": of("letters, digits and punctuation of ASCII, without spaces", parseHTTPToken),
		"bot-token":  of("a token from @BotFather, as 123456:ABC-DEF", parseTelegramToken),
		"user-ids":   of("a comma-separated list of Telegram user ids, as 123456789,987654321", parseUsers),
		"channel":    of("a channel, as tg-123456789", parseChannel),
		"line":       of("a command line for sh", parsePrintable),
		"text":       of("a text", func(s string) (string, error) { return s, nil }),
		"word":       of("a word", parseWord),
		"tools":      of("a comma-separated list, as Read,Bash(git log *)", parseTools),
		"names":      of("a comma-separated list of variable names, none of them BARECLAW_…", listOf(parseName)),

		"path":      at(path, machine.path),
		"directory": at(directory, machine.directory),
		"directories": {"a comma-separated list of existing directories, each absolute or starting with ~/", "",
			func(m machine, text string, _ []string) (any, error) { return listOf(m.directory)(text) }},
		"source":       at(directory+", or off", machine.directory, SourceOff),
		"command":      at("the path or the name of a program", machine.command),
		"text-or-file": at("a text, or @ and the path of a file", machine.textOrFile),
		"log-file":     at("auto, off or "+path, machine.path, LogFileAuto, LogFileOff),
	}
})

// parseIntSetting reads a whole number between two limits.
func parseIntSetting(_ machine, text string, limits []string) (any, error) {
	low, err := strconv.Atoi(limits[0])
	if err != nil {
		return nil, err
	}
	high, err := strconv.Atoi(limits[1])
	if err != nil {
		return nil, err
	}
	return between(low, high)(text)
}
