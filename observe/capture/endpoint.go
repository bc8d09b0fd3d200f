package capture

import "strings"

// Lengths from which a segment of a path is taken for an id.
const (
	minHexID   = 12
	minTokenID = 8
	uuidLength = 36
)

// maxEndpoint is how long the name of an endpoint becomes, in bytes.
const maxEndpoint = 200

// Endpoint names what a request asks for, such as "GET /users/:id": the method, and the path, in which
// ":id" stands for numbers, UUIDs and hashes, and ":token" for what has a secret: see [MaskURL]. The path may have
// a query, which is left out, as are the parameters of segments, such as ;jsessionid=….
func Endpoint(method, path string) string {
	path, _, _ = strings.Cut(path, "?")
	path = MaskURL(path)
	var b strings.Builder
	b.Grow(len(method) + 1 + len(path))
	b.WriteString(method)
	b.WriteByte(' ')
	for first := true; ; first = false {
		segment, rest, more := strings.Cut(path, "/")
		if !first {
			b.WriteByte('/')
		}
		segment, _, _ = strings.Cut(segment, ";")
		switch {
		case strings.Contains(segment, maskBegin):
			segment = ":token"
		case isID(segment):
			segment = ":id"
		}
		b.WriteString(segment)
		if !more {
			break
		}
		path = rest
	}
	name := b.String()
	if len(name) > maxEndpoint {
		name = strings.ToValidUTF8(name[:maxEndpoint], "") + "…"
	}
	return name
}

// isID reports whether the segment of a path says which thing is meant, not which kind.
func isID(segment string) bool {
	var digits, hexLetters, otherLetters, dashes int
	for i := range len(segment) {
		switch c := segment[i]; {
		case '0' <= c && c <= '9':
			digits++
		case 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
			hexLetters++
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			otherLetters++
		case c == '-', c == '_':
			dashes++
		default:
			return false
		}
	}
	n := len(segment)
	letters := hexLetters + otherLetters
	switch {
	case n == 0:
		return false
	case digits == n:
		return true
	case digits+hexLetters == n && n >= minHexID:
		return true
	case digits > 0 && letters > 0 && n >= minTokenID:
		return true
	}
	return isUUID(segment)
}

// isUUID reports whether s has the form of a UUID. A UUID without any digit is one too.
func isUUID(s string) bool {
	if len(s) != uuidLength {
		return false
	}
	for i := range len(s) {
		isDash := i == 8 || i == 13 || i == 18 || i == 23
		if isDash != (s[i] == '-') {
			return false
		}
		if !isDash && !isHex(s[i]) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// Ignored reports whether requests for the path say nothing of the app: static files, what tools of
// development load, and checks whether the app is up. The path may have a query.
func Ignored(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return isStatic(path) || isHealthCheck(path)
}

func isHealthCheck(path string) bool {
	switch strings.ToLower(strings.TrimPrefix(path, "/api")) {
	case "/health", "/healthz", "/healthcheck", "/ping", "/ready", "/readyz", "/readiness", "/livez", "/liveness", "/status":
		return true
	}
	return false
}

// isStatic goes by the end of the path, and by where frameworks keep their files.
func isStatic(path string) bool {
	if dot := strings.LastIndexByte(path, '.'); dot > strings.LastIndexByte(path, '/') {
		switch strings.ToLower(path[dot+1:]) {
		case "js", "mjs", "css", "map", "ico", "png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "woff", "woff2", "ttf", "eot", "wasm":
			return true
		}
	}
	second := func(prefixes ...string) bool {
		for _, prefix := range prefixes {
			if strings.HasPrefix(path, prefix) {
				return true
			}
		}
		return false
	}
	switch {
	case strings.HasPrefix(path, "/__"):
		return true
	case strings.HasPrefix(path, "/@"):
		return second("/@vite/", "/@fs/", "/@id/", "/@astro", "/@react-refresh")
	case strings.HasPrefix(path, "/_"):
		return second("/_next/", "/_nuxt/", "/_astro/", "/_debugtoolbar/")
	}
	switch path {
	case "/openapi.json", "/docs", "/redoc":
		return true
	}
	return second("/favicon", "/node_modules/", "/static/", "/media/", "/assets/", "/packs/", "/.well-known/")
}
