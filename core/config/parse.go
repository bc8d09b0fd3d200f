package config

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"bareclaw/internal/zone"
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

func parseMillis(s string) (time.Duration, error) {
	n, err := between[int64](0, math.MaxInt64/int64(time.Millisecond))(s)
	return time.Duration(n) * time.Millisecond, err
}

// durations returns a reader of Go durations of at least low.
func durations(low time.Duration) func(string) (time.Duration, error) {
	return func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		switch {
		case err != nil:
			return 0, fmt.Errorf("%s is not a duration", quoted(s))
		case d < low:
			return 0, fmt.Errorf("%s is too short", quoted(s))
		}
		return d, nil
	}
}

// parseAge reads a Go duration of 0 or more, or a whole number of days with suffix d.
func parseAge(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		const most = math.MaxInt64 / int64(24*time.Hour)
		n, err := between[int64](0, most)(days)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return durations(0)(s)
}

// maxChannelBytes is the core's bound for a channel's key.
const maxChannelBytes = 256

func parseZone(s string) (string, error) {
	_, err := zone.Load(s)
	return s, err
}

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

// parseBodySize reads a number of bytes, with or without a unit, from minBodyBytes to
// maxBodyBytes.
func parseBodySize(s string) (int64, error) {
	n, err := humanize.ParseBytes(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s is not a size", quoted(s))
	case n < minBodyBytes || n > maxBodyBytes:
		return 0, fmt.Errorf("%s is out of range", quoted(s))
	}
	return int64(n), nil
}

// listOf returns a reader of a comma-separated list whose entries are read by parse. The
// reader trims the entries; an empty entry is an error.
func listOf[T any](parse func(string) (T, error)) func(string) ([]T, error) {
	return func(s string) ([]T, error) {
		texts, err := splitList(s, func(r rune) bool { return r == ',' })
		list := make([]T, len(texts))
		for i := 0; i < len(texts) && err == nil; i++ {
			list[i], err = parse(texts[i])
		}
		if err != nil {
			return nil, err
		}
		return list, nil
	}
}

// parseTools reads a list of tools, with commas allowed in parentheses: Bash(cut -d,
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

// parseName reads the name of an environment variable that is no setting.
func parseName(s string) (string, error) {
	switch {
	case !isVariableName(s):
		return "", fmt.Errorf("%s is not a variable name", quoted(s))
	case strings.HasPrefix(s, prefix):
		return "", fmt.Errorf("%s is a setting of the daemon, which claude never sees", quoted(s))
	}
	return s, nil
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

func oneOf(words []string, s string) (string, error) {
	if !slices.Contains(words, s) {
		return "", fmt.Errorf("%s is unknown", quoted(s))
	}
	return s, nil
}

func parseLevel(s string) (level slog.Level, err error) {
	if s, err = oneOf([]string{"debug", "info", "warn", "error"}, s); err == nil {
		err = level.UnmarshalText([]byte(s))
	}
	return level, err
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
	if !regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]+$`).MatchString(s) {
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

func isVariableName(s string) bool {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(s)
}

// parseHost reads an IP address, in brackets or not, or a host name. The result is a name in
// lower case, or an address in canonical form.
func parseHost(s string) (string, error) {
	bare := s
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		bare = s[1 : len(s)-1]
	}
	if addr, err := netip.ParseAddr(bare); err == nil && isPrintable(bare) {
		return addr.String(), nil
	}
	name := strings.ToLower(strings.TrimSuffix(s, "."))
	if !isHostName(name) {
		return "", fmt.Errorf("%s is neither an IP address nor a host name", quoted(s))
	}
	return name, nil
}

// isHostName allows the letters, digits and hyphens of RFC 1123, section 2.1, and also
// underscores, common in private networks. The last label is no number: 127.1 means
// different things to different resolvers.
func isHostName(name string) bool {
	labels := regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$`)
	last := name[strings.LastIndexByte(name, '.')+1:]
	return len(name) <= 253 && labels.MatchString(name) && strings.Trim(last, "0123456789") != ""
}

// IsLoopback reports whether a host, a value of [Config.Host], is reachable from the same
// machine only.
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// parseLoopbackAddress reads the address and the port of a listener that only this machine
// reaches.
func parseLoopbackAddress(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if err == nil {
		host, err = parseHost(host)
	}
	if err == nil {
		_, err = between(1, math.MaxUint16)(port)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("%s is not an address with a port", quoted(s))
	case !IsLoopback(host):
		return "", fmt.Errorf("%s can be reached by others", quoted(host))
	}
	return net.JoinHostPort(host, port), nil
}
