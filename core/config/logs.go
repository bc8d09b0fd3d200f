package config

import "log/slog"

// Time holds the settings of times.
type Time struct {
	// Zone is the time zone of schedules, of the day that a budget is for, and of all times that
	// people see, such as Europe/Berlin. Claude's commands get it as `TZ`.
	//
	// A schedule can have a zone of its own: bareclaw schedule add --tz ZONE.
	Zone Zone `envconfig:"BARECLAW_TZ" unset:"TZ, else the machine's" harmless:"true"`
}

// Logs holds the settings of the log.
type Logs struct {
	// File is the file of the log besides stderr: `auto` is `bareclaw.log` in the state
	// directory unless the journal of systemd has the log, `off` is none.
	//
	// The file is rotated at 10 MiB, and three old ones are kept.
	File LogFile `envconfig:"BARECLAW_LOG_FILE" default:"auto"`
	// Level is the least severe level that is written. Only `debug` includes the text of
	// messages.
	//
	// Of each message and answer up to 64 KiB are written.
	Level Level `envconfig:"BARECLAW_LOG_LEVEL" default:"info" harmless:"true"`
	// Format is the format of log lines.
	Format LogFormat `envconfig:"BARECLAW_LOG_FORMAT" default:"text" harmless:"true"`
}

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
