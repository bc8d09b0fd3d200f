package capture

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const (
	maskBegin = "[masked:"
	maskEnd   = "]"
)

// Mask returns what stands in the place of a secret of n bytes.
func Mask(n int) string { return maskBegin + strconv.Itoa(n) + maskEnd }

// MaskedLength returns the length of the secret in whose place s stands, in bytes, and whether s is a mask.
func MaskedLength(s string) (n int, ok bool) {
	inner, isMask := strings.CutPrefix(s, maskBegin)
	inner, hasEnd := strings.CutSuffix(inner, maskEnd)
	if !isMask || !hasEnd {
		return 0, false
	}
	n, err := strconv.Atoi(inner)
	return n, err == nil && n >= 0
}

// MaskValue returns the value, or its mask if values of the name are secrets: of a parameter, a flag, a header or a variable.
func MaskValue(name, value string) string {
	if !secrecyOf(name).hides(value) {
		return value
	}
	return maskValue(value)
}

// maskValue returns the mask of a secret. What is masked already stays.
func maskValue(value string) string {
	if _, masked := MaskedLength(value); masked || isOwnMask(value) {
		return value
	}
	return Mask(len(value))
}

// maxHeader is how much of a message's header is kept, in bytes.
const maxHeader = 64 << 10

// MaskHeader returns a copy of the header with masks in the place of secrets. Of Authorization the scheme
// stays, of Cookie and Set-Cookie the names and attributes. What is beyond 64 KiB is left out.
func MaskHeader(header http.Header) http.Header {
	masked := make(http.Header, len(header))
	size := 0
	for name, values := range header {
		kept := make([]string, 0, len(values))
		for _, value := range values {
			size += len(name) + len(value)
			if size > maxHeader {
				break
			}
			kept = append(kept, maskHeaderValue(name, value))
		}
		if len(kept) > 0 {
			masked[name] = kept
		}
	}
	return masked
}

func maskHeaderValue(name, value string) string {
	switch name {
	case "Cookie":
		return maskCookies(value)
	case "Set-Cookie":
		return maskSetCookie(value)
	case "Sec-Websocket-Protocol":
		return maskProtocols(value)
	}
	switch {
	case isEnd(name, "Authorization"):
		scheme := schemeLength(value)
		return value[:scheme] + maskValue(value[scheme:])
	case name == "X-Auth", isSecretName(name):
		return maskValue(value)
	case strings.HasPrefix(value, "/"), strings.Contains(value, "://"):
		return MaskURL(value)
	}
	return MaskText(value)
}

// maskSetCookie masks the value of the cookie, and leaves its attributes.
func maskSetCookie(value string) string {
	pair, _, _ := strings.Cut(value, ";")
	return maskCookies(pair) + value[len(pair):]
}

// protocols are those of WebSockets that are known. Browsers can send no other header with a WebSocket, so that a token
// stands among them in some apps.
var protocols = []string{
	"actioncable-unsupported", "actioncable-v1-json", "access_token", "authorization", "bearer", "binary", "chat", "graphql-transport-ws", "graphql-ws",
	"json", "mqtt", "mqttv3.1", "soap", "superchat", "token", "v10.stomp", "v11.stomp", "v12.stomp", "vite-hmr", "vite-ping", "wamp.2.json",
}

// maskProtocols masks those of a list of protocols that are not known.
func maskProtocols(list string) string {
	all := strings.Split(list, ",")
	for i, one := range all {
		name := strings.TrimSpace(one)
		if slices.Contains(protocols, strings.ToLower(name)) {
			continue
		}
		all[i] = strings.Replace(one, name, maskValue(name), 1)
	}
	return strings.Join(all, ",")
}

// maskCookies masks the values of a list of cookies.
func maskCookies(list string) string {
	var b strings.Builder
	for {
		cookie, rest, more := strings.Cut(list, ";")
		name, value, hasName := strings.Cut(cookie, "=")
		if hasName {
			b.WriteString(name)
			b.WriteByte('=')
		} else {
			value = cookie
		}
		b.WriteString(maskValue(value))
		if !more {
			return b.String()
		}
		b.WriteByte(';')
		list = rest
	}
}
