package config

import "log/slog"

// A Level is the least severe level of the log that is written.
type Level slog.Level

var levels = []string{"debug", "info", "warn", "error"}

// Decode reads the name of a level.
func (l *Level) Decode(text string) error {
	var name string
	if err := choose(&name, text, levels); err != nil {
		return err
	}
	return (*slog.Level)(l).UnmarshalText([]byte(name))
}

// Accepted lists the levels.
func (*Level) Accepted() string { return alternatives(levels) }

// LogFormat is the format of log lines.
type LogFormat string

// LogJSON is the format of slog's JSON handler; LogText is that of its text handler.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

var logFormats = []LogFormat{LogText, LogJSON}

// Decode reads the name of a format.
func (f *LogFormat) Decode(text string) error { return choose(f, text, logFormats) }

// Accepted lists the formats.
func (*LogFormat) Accepted() string { return alternatives(logFormats) }
