package schema

import (
	"net/mail"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
)

// hasFormat reports whether a text has a format. Texts have all unknown formats.
func hasFormat(text, format string) bool {
	switch format {
	case "date-time":
		return isTime(time.RFC3339Nano, strings.ToUpper(text))
	case "date":
		return isTime(time.DateOnly, text)
	case "time":
		return isTime(time.RFC3339Nano, "2000-01-01T"+strings.ToUpper(text))
	case "email":
		a, err := mail.ParseAddress(text)
		return err == nil && a.Address == text
	case "ipv4":
		a, err := netip.ParseAddr(text)
		return err == nil && a.Is4()
	case "ipv6":
		a, err := netip.ParseAddr(text)
		return err == nil && a.Is6() && a.Zone() == ""
	case "uri":
		u, err := url.Parse(text)
		return err == nil && u.IsAbs() && !strings.ContainsAny(text, " <>\"{}|\\^`")
	case "uuid":
		return len(text) == 36 && uuid.Validate(text) == nil
	}
	return true
}

// isTime reports whether a text is a time. A second 60 is one, because leap seconds are.
func isTime(layout, text string) bool {
	if _, err := time.Parse(layout, text); err == nil {
		return !strings.Contains(text, ",")
	}
	before, after, ok := strings.Cut(text, ":59:60")
	if !ok {
		return false
	}
	_, err := time.Parse(layout, before+":59:59"+after)
	return err == nil
}
