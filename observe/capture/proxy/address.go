package proxy

import (
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// leadBack changes addresses of the app in a response, so that the client stays with the proxy. It leaves
// the header as it was that the exchange has noted.
func leadBack(res *http.Response, e *exchange) {
	host := res.Request.Host
	changed := false
	change := func(name string, values []string) {
		if !changed {
			res.Header = maps.Clone(res.Header)
			changed = true
		}
		res.Header[name] = values
	}
	for _, name := range []string{"Location", "Content-Location"} {
		values := res.Header[name]
		if len(values) != 1 {
			continue
		}
		if led := leadLocation(values[0], e.target.url, host, scheme(res.Request)); led != values[0] {
			change(name, []string{led})
		}
	}
	cookies := res.Header["Set-Cookie"]
	var led []string
	for i, cookie := range cookies {
		kept := leadCookie(cookie, e.target.url.Hostname(), host)
		if kept == cookie {
			continue
		}
		if led == nil {
			led = slices.Clone(cookies)
		}
		led[i] = kept
	}
	if led != nil {
		change("Set-Cookie", led)
	}
}

// scheme returns how the client has come: by a tunnel perhaps, which says so.
func scheme(out *http.Request) string {
	if out.Header.Get("X-Forwarded-Proto") == "https" {
		return "https"
	}
	return "http"
}

// leadLocation returns the address, at the proxy if it is the app's own.
func leadLocation(location string, target *url.URL, host, scheme string) string {
	if !strings.Contains(location, "//") {
		return location
	}
	u, err := url.Parse(location)
	if err != nil || u.Host == "" || !isOwn(u, target) {
		return location
	}
	if u.Scheme != "" {
		u.Scheme = scheme
	}
	u.Host = host
	return u.String()
}

// isOwn reports whether the URL leads to the app itself, by whichever name of this machine.
func isOwn(u, target *url.URL) bool {
	if portOf(u, target.Scheme) != portOf(target, target.Scheme) {
		return false
	}
	return isSameHost(u.Hostname(), target.Hostname())
}

func isSameHost(a, b string) bool {
	return strings.EqualFold(a, b) || isLoopback(a) && isLoopback(b)
}

func portOf(u *url.URL, scheme string) string {
	if port := u.Port(); port != "" {
		return port
	}
	if u.Scheme != "" {
		scheme = u.Scheme
	}
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// leadCookie returns the cookie, without a Domain that is the app's host where the client knows the proxy
// by another name.
func leadCookie(cookie, app, host string) string {
	if !strings.Contains(cookie, ";") {
		return cookie
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	attributes := strings.Split(cookie, ";")
	kept := slices.DeleteFunc(attributes[1:], func(attribute string) bool {
		key, domain, _ := strings.Cut(strings.TrimSpace(attribute), "=")
		if !strings.EqualFold(key, "Domain") {
			return false
		}
		domain = strings.TrimPrefix(domain, ".")
		return isSameHost(domain, app) && !strings.EqualFold(domain, name)
	})
	return strings.Join(attributes[:1+len(kept)], ";")
}
