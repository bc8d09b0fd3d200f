package rules

import (
	"strings"

	"bareclaw/observe/capture"
)

var insecureCookie = Rule{
	ID:       "insecure-cookie",
	Category: Security,
	Severity: Warning,
	Title:    "Unprotected cookie",
	Advice:   "Set HttpOnly and SameSite, and Secure if the app serves HTTPS.",
	Needs:    capture.Response,
	Check:    checkInsecureCookie,
	clears:   setsCookie,
	about:    protectedCookies,
}

// setsCookie reports whether the response sets a cookie in the name of the app itself. Others say nothing of
// how it does so.
func setsCookie(s *Subject) bool {
	if isRedirect(s.Request) || strings.HasPrefix(s.Request.URL, "/__") {
		return false
	}
	return len(s.Request.Received.Header.Values("Set-Cookie")) > 0
}

func checkInsecureCookie(s *Subject) []Match {
	if !setsCookie(s) {
		return nil
	}
	var matches []Match
	for _, line := range s.Request.Received.Header.Values("Set-Cookie") {
		c := parseCookie(line)
		lacks := c.lacks(s.Request.HTTPS)
		if lacks == "" {
			continue
		}
		matches = append(matches, Match{Description: lacking(&c, lacks)})
	}
	return distinct(matches)
}

// lacking describes a cookie that is set without attributes.
func lacking(c *cookie, what string) Description {
	return Describe("The cookie %q lacks %s.", name(c.name), Figure(what))
}

// protectedCookies returns what would be found of the cookies that the response sets, if they were not protected. How
// it removes a cookie says nothing of how that is set.
func protectedCookies(s *Subject) []Match {
	var matches []Match
	for _, line := range s.Request.Received.Header.Values("Set-Cookie") {
		c := parseCookie(line)
		if !c.isEmpty {
			matches = append(matches, Match{Description: lacking(&c, "nothing")})
		}
	}
	return distinct(matches)
}

// A cookie is what a Set-Cookie header says.
type cookie struct {
	name     string
	isEmpty  bool // it is removed
	httpOnly bool
	sameSite bool
	secure   bool
}

func parseCookie(header string) cookie {
	pair, attributes, _ := strings.Cut(header, ";")
	key, value, _ := strings.Cut(pair, "=")
	c := cookie{
		name:    strings.TrimSpace(key),
		isEmpty: strings.Trim(value, "\" \t") == "",
	}
	for attribute := range strings.SplitSeq(attributes, ";") {
		key, value, _ := strings.Cut(attribute, "=")
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "httponly":
			c.httpOnly = true
		case "samesite":
			c.sameSite = true
		case "secure":
			c.secure = true
		case "max-age":
			c.isEmpty = c.isEmpty || strings.TrimSpace(value) == "0" || strings.HasPrefix(strings.TrimSpace(value), "-")
		}
	}
	return c
}

// lacks names the attributes that the cookie should have, or returns "". The pages themselves must read
// tokens against forged requests.
func (c *cookie) lacks(https bool) string {
	if c.isEmpty {
		return ""
	}
	var missing []string
	lower := strings.ToLower(c.name)
	forPages := strings.Contains(lower, "csrf") || strings.Contains(lower, "xsrf")
	if !c.httpOnly && !forPages {
		missing = append(missing, "HttpOnly")
	}
	if !c.sameSite {
		missing = append(missing, "SameSite")
	}
	if !c.secure && https {
		missing = append(missing, "Secure")
	}
	return strings.Join(missing, " and ")
}
