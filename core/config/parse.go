package config

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// minBodyBytes leaves room for a JSON object around a short text.
	minBodyBytes = 1 << 10
	// maxBodyBytes keeps a body within a line of claude's output. Lines are read up to 128
	// MiB.
	maxBodyBytes = 64 << 20
	// maxDollars catches a slipped digit; nothing depends on the limit.
	maxDollars = 1_000_000
)

// between returns a reader of decimal whole numbers from low to high.
func between[T int | int64](low, high T) func(string) (T, error) {
	return func(s string) (T, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		switch {
		case errors.Is(err, strconv.ErrRange), err == nil && (n < int64(low) || n > int64(high)):
			return 0, fmt.Errorf("%s is out of range", quoted(s))
		case err != nil:
			return 0, fmt.Errorf("%s is not a whole number", quoted(s))
		}
		return T(n), nil
	}
}

// parseMillis reads a number of milliseconds, 0 or more.
func parseMillis(s string) (time.Duration, error) {
	n, err := between[int64](0, math.MaxInt64/int64(time.Millisecond))(s)
	return time.Duration(n) * time.Millisecond, err
}

// parseDuration reads a Go duration of more than 0.
func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s is not a duration", quoted(s))
	case d <= 0:
		return 0, fmt.Errorf("%s is not more than 0", quoted(s))
	}
	return d, nil
}

// parseOptionalDuration reads a Go duration of 0 or more.
func parseOptionalDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s is not a duration", quoted(s))
	case d < 0:
		return 0, fmt.Errorf("%s is less than 0", quoted(s))
	}
	return d, nil
}

// parseAge reads a Go duration of 0 or more, or a whole number of days with suffix d.
func parseAge(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		const most = math.MaxInt64 / int64(24*time.Hour)
		n, err := between[int64](0, most)(days)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return parseOptionalDuration(s)
}

// parseInterval reads a duration of a minute or more.
func parseInterval(s string) (time.Duration, error) {
	d, err := parseDuration(s)
	if err == nil && d < time.Minute {
		return 0, fmt.Errorf("%s is less than a minute", quoted(s))
	}
	return d, err
}

// maxChannelBytes is the core's bound for a channel's key.
const maxChannelBytes = 256

// parseChannel reads the key of a channel.
func parseChannel(s string) (string, error) {
	if len(s) > maxChannelBytes {
		return "", fmt.Errorf("it is longer than %d bytes", maxChannelBytes)
	}
	return parsePrintable(s)
}

// parseDollars reads an amount of 0 to maxDollars, in decimals without an exponent.
func parseDollars(s string) (float64, error) {
	usd, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || strings.Trim(s, "0123456789.") != "":
		return 0, fmt.Errorf("%s is not an amount", quoted(s))
	case usd > maxDollars:
		return 0, fmt.Errorf("%s is out of range", quoted(s))
	}
	return usd, nil
}

// parseBodySize reads a whole number of bytes, with or without a unit, from
// minBodyBytes to maxBodyBytes.
func parseBodySize(s string) (int64, error) {
	digits := s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
	unit, ok := unitBytes(strings.TrimSpace(s[len(digits):]))
	if !ok || digits == "" {
		return 0, fmt.Errorf("%s is not a size", quoted(s))
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > maxBodyBytes/unit || n*unit < minBodyBytes {
		return 0, fmt.Errorf("%s is out of range", quoted(s))
	}
	return n * unit, nil
}

// unitBytes returns the number of bytes in a unit, in upper or lower case.
func unitBytes(unit string) (int64, bool) {
	switch strings.ToLower(unit) {
	case "", "b":
		return 1, true
	case "kb":
		return 1e3, true
	case "mb":
		return 1e6, true
	case "gb":
		return 1e9, true
	case "kib":
		return 1 << 10, true
	case "mib":
		return 1 << 20, true
	case "gib":
		return 1 << 30, true
	}
	return 0, false
}

// parseList splits s at the commas and trims the entries. An empty s is an empty list; an
// empty entry is an error.
func parseList(s string) ([]string, error) {
	return splitList(s, func(r rune) bool { return r == ',' })
}

// parseTools is parseList for tool names, with commas allowed in parentheses: Bash(cut -d,
// -f1),Read is two tools.
func parseTools(s string) ([]string, error) {
	depth := 0
	tools, err := splitList(s, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return r == ',' && depth <= 0
	})
	if err != nil {
		return nil, err
	}
	for _, tool := range tools {
		switch {
		case strings.HasPrefix(tool, "-"):
			return nil, fmt.Errorf("%s looks like an option of the CLI", quoted(tool))
		case !isPrintable(tool):
			return nil, fmt.Errorf("%s has control characters", quoted(tool))
		case strings.Count(tool, "(") != strings.Count(tool, ")"):
			return nil, fmt.Errorf("%s has unbalanced parentheses", quoted(tool))
		}
	}
	return tools, nil
}

func splitList(s string, isComma func(rune) bool) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	var list []string
	start := 0
	add := func(end int) { list = append(list, strings.TrimSpace(s[start:end])) }
	for i, r := range s {
		if isComma(r) {
			add(i)
			start = i + 1
		}
	}
	add(len(s))
	if i := slices.Index(list, ""); i >= 0 {
		return nil, fmt.Errorf("entry %d of the list is empty", i+1)
	}
	return list, nil
}

// parseUsers reads a list of Telegram user ids.
func parseUsers(s string) ([]int64, error) {
	list, err := parseList(s)
	if err != nil {
		return nil, err
	}
	userID := between[int64](1, math.MaxInt64)
	users := make([]int64, len(list))
	for i, entry := range list {
		if users[i], err = userID(entry); err != nil {
			return nil, fmt.Errorf("user id %w", err)
		}
	}
	return users, nil
}

// parseNames reads a list of environment variable names.
func parseNames(s string) ([]string, error) {
	names, err := parseList(s)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		switch {
		case !isVariableName(name):
			return nil, fmt.Errorf("%s is not a variable name", quoted(name))
		case strings.HasPrefix(name, prefix):
			return nil, fmt.Errorf("%s is a setting of the daemon, which claude never sees", quoted(name))
		}
	}
	return names, nil
}

// parseWord reads an argument for the CLI that cannot be mistaken for an option.
func parseWord(s string) (string, error) {
	switch {
	case strings.HasPrefix(s, "-"):
		return "", fmt.Errorf("%s looks like an option of the CLI", quoted(s))
	case !isPrintable(s) || strings.ContainsFunc(s, unicode.IsSpace):
		return "", fmt.Errorf("%s has spaces or control characters", quoted(s))
	}
	return s, nil
}

// oneOf reads a word from a list.
func oneOf(words []string, s string) (string, error) {
	if !slices.Contains(words, s) {
		return "", fmt.Errorf("%s is unknown", quoted(s))
	}
	return s, nil
}

// parseLevel reads the name of a log level.
func parseLevel(s string) (slog.Level, error) {
	switch s {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("%s is unknown", quoted(s))
}

// parseHTTPToken reads a token allowed after "Bearer " in a header. Errors do not contain
// the value.
func parseHTTPToken(s string) (Secret, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Secret{}, errors.New("it has a space, a control character or a letter outside ASCII")
	}
	return NewSecret(s), nil
}

// parseTelegramToken reads a bot's id and key, in the format of @BotFather. Errors do not
// contain the value.
func parseTelegramToken(s string) (Secret, error) {
	id, key, _ := strings.Cut(s, ":")
	isKeyByte := func(r rune) bool {
		return r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	if !isDigits(id) || key == "" || strings.TrimFunc(key, isKeyByte) != "" {
		return Secret{}, errors.New("it does not look like a bot token")
	}
	return NewSecret(s), nil
}

// parseBaseURL reads an http or https URL and removes a final slash.
func parseBaseURL(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || !slices.Contains([]string{"http", "https"}, u.Scheme) || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%s is not such a URL", quoted(s))
	}
	return strings.TrimRight(s, "/"), nil
}

func parsePrintable(s string) (string, error) {
	if !isPrintable(s) {
		return "", fmt.Errorf("%s has control characters", quoted(s))
	}
	return s, nil
}

// isPrintable reports whether s is valid UTF-8 without control characters.
func isPrintable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// isVariableName reports whether s is a portable environment variable name.
func isVariableName(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '_', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case '0' <= c && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return s != ""
}
