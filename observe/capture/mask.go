package capture

import (
	"net/http"
	"net/url"
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

// maskValue returns the mask of a secret. What is masked already stays.
func maskValue(value string) string {
	if _, masked := MaskedLength(value); masked || isOwnMask(value) {
		return value
	}
	return Mask(len(value))
}

// MaskURL returns the URL, absolute or not, with masks in the place of its password and of the values of
// secret parameters, in the query and in the fragment. It need not be a correct URL.
func MaskURL(address string) string {
	address = maskPassword(address)
	begin := strings.IndexAny(address, "?#")
	if begin < 0 {
		return address
	}
	return address[:begin+1] + maskForm(address[begin+1:])
}

// maskForm masks the secrets of a query or a form.
func maskForm(form string) string {
	if !strings.Contains(form, "=") {
		return form
	}
	var b strings.Builder
	for form != "" {
		end := strings.IndexAny(form, "&;#?")
		pair := form
		separator := ""
		rest := ""
		if end >= 0 {
			pair = form[:end]
			separator = form[end : end+1]
			rest = form[end+1:]
		}
		name, value, hasValue := strings.Cut(pair, "=")
		switch {
		case hasValue && isSecretParameter(name):
			b.WriteString(name)
			b.WriteByte('=')
			b.WriteString(maskValue(value))
		default:
			b.WriteString(maskEscapedURL(pair))
		}
		b.WriteString(separator)
		form = rest
	}
	return b.String()
}

// maskEscapedURL masks a pair whose value is a URL with a password.
func maskEscapedURL(pair string) string {
	if !strings.Contains(pair, "%3A%2F%2F") && !strings.Contains(pair, "%3a%2f%2f") {
		return maskPassword(pair)
	}
	plain, err := url.QueryUnescape(pair)
	if err != nil || maskPassword(plain) == plain {
		return pair
	}
	return maskPassword(plain)
}

// isSecretParameter knows names as user[password] too.
func isSecretParameter(name string) bool {
	if strings.ContainsAny(name, "%+") {
		plain, err := url.QueryUnescape(name)
		if err == nil {
			name = plain
		}
	}
	name = strings.TrimRight(name, "]")
	if open := strings.LastIndexByte(name, '['); open >= 0 {
		name = name[open+1:]
	}
	return isSecretName(name)
}

// maskPassword masks the passwords of all URLs in the text.
func maskPassword(text string) string {
	at := strings.Index(text, "://")
	if at < 0 || !strings.Contains(text, "@") {
		return text
	}
	var b strings.Builder
	for ; at >= 0; at = strings.Index(text, "://") {
		b.WriteString(text[:at+3])
		text = text[at+3:]
		authority := text
		if end := strings.IndexAny(text, "/?# \t\r\n\"'<>`\\"); end >= 0 {
			authority = text[:end]
		}
		user := strings.LastIndexByte(authority, '@')
		if user < 0 {
			continue
		}
		name, password, hasPassword := strings.Cut(authority[:user], ":")
		if !hasPassword {
			continue
		}
		b.WriteString(name)
		b.WriteByte(':')
		b.WriteString(maskValue(password))
		text = text[user:]
	}
	b.WriteString(text)
	return b.String()
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
	case "Authorization", "Proxy-Authorization":
		return maskCredentials(value)
	case "Cookie":
		return maskCookies(value)
	case "Set-Cookie":
		pair, attributes, _ := strings.Cut(value, ";")
		return maskCookies(pair) + value[len(pair):len(value)-len(attributes)] + attributes
	case "Location", "Content-Location", "Referer":
		return MaskURL(value)
	}
	if isSecretName(name) {
		return maskValue(value)
	}
	return MaskText(value)
}

// maskCredentials keeps the scheme alone.
func maskCredentials(value string) string {
	scheme, secret, hasScheme := strings.Cut(value, " ")
	if !hasScheme {
		return maskValue(value)
	}
	return scheme + " " + maskValue(strings.TrimSpace(secret))
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
