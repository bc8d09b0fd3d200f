package script

import (
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // tools may want it
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // tools may want it
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	neturl "net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/nlnwa/whatwg-url/url"
)

// maxRandom is how many random bytes a tool gets at once.
const maxRandom = 1 << 16

// compute carries out an operation of the shims that needs nothing but its arguments.
func compute(name string, args arguments) (any, error) {
	text := args.text
	switch name {
	case "encode":
		b, err := encode(text(0), text(1))
		return pack(b), err
	case "decode":
		return decode(text(0), unpack(text(1)))
	case "now":
		return float64(time.Since(processStart())) / float64(time.Millisecond), nil
	case "uuid":
		return uuid.NewString(), nil
	case "random":
		n, ok := args[0].(int)
		if !ok || n < 0 || n > maxRandom {
			return nil, fmt.Errorf("crypto.getRandomValues gives 0 to %d bytes at once", maxRandom)
		}
		b := make([]byte, n)
		_, err := rand.Read(b)
		return pack(b), err
	case "digest":
		return digest(text(0), unpack(text(1)))
	case "hmac":
		return sign(text(0), unpack(text(1)), unpack(text(2)))
	case "compare":
		return compareTexts(text(0), text(1), text(2)), nil
	case "url":
		return parseURL(text(0), text(1))
	case "setURL":
		return setURL(text(0), text(1), text(2))
	case "parseQuery":
		return parseQuery(text(0))
	case "formatQuery":
		return formatQuery(text(0))
	}
	return nil, fmt.Errorf("there is no operation %q", name)
}

// processStart is when the first tool asked for the time.
var processStart = sync.OnceValue(time.Now)

// pack returns a string with one character for each byte, as the shims passes bytes.
func pack(b []byte) string {
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return string(runes)
}

// unpack is the reverse of pack.
func unpack(s string) []byte {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		b = append(b, byte(r))
	}
	return b
}

// encode returns the bytes that a text stands for.
func encode(encoding, text string) ([]byte, error) {
	switch canonical(encoding) {
	case "utf8":
		return []byte(text), nil
	case "latin1":
		return unpack(text), nil
	case "hex":
		return hex.DecodeString(text)
	case "base64", "base64url":
		// Both alphabets, with and without padding, and spaces.
		text = strings.NewReplacer("-", "+", "_", "/", " ", "", "\t", "", "\r", "", "\n", "", "\f", "").Replace(text)
		b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
		if err != nil {
			return nil, errors.New("the text is not valid base64")
		}
		return b, nil
	}
	return nil, unknownEncoding(encoding)
}

// decode returns the text for bytes.
func decode(encoding string, b []byte) (string, error) {
	switch canonical(encoding) {
	case "utf8":
		return string(b), nil
	case "utf8-fatal":
		if !utf8.Valid(b) {
			return "", errors.New("the bytes are not valid UTF-8")
		}
		return string(b), nil
	case "latin1":
		return pack(b), nil
	case "hex":
		return hex.EncodeToString(b), nil
	case "base64":
		return base64.StdEncoding.EncodeToString(b), nil
	case "base64url":
		return base64.RawURLEncoding.EncodeToString(b), nil
	}
	return "", unknownEncoding(encoding)
}

// canonical returns one name for the names that an encoding has.
func canonical(encoding string) string {
	switch encoding = strings.ToLower(encoding); encoding {
	case "utf-8":
		return "utf8"
	case "binary", "ascii":
		return "latin1"
	}
	return encoding
}

func unknownEncoding(encoding string) error {
	return fmt.Errorf("the encoding %q is not available; there are utf8, latin1, hex, base64 and base64url", encoding)
}

// hashes are the constructors of hashes by the names of their algorithms in SubtleCrypto and in Node.
var hashes = map[string]func() hash.Hash{
	"md5":     md5.New,
	"SHA-1":   sha1.New,
	"sha1":    sha1.New,
	"SHA-256": sha256.New,
	"sha256":  sha256.New,
	"SHA-384": sha512.New384,
	"sha384":  sha512.New384,
	"SHA-512": sha512.New,
	"sha512":  sha512.New,
}

func hashOf(algorithm string) (func() hash.Hash, error) {
	if newHash, ok := hashes[algorithm]; ok {
		return newHash, nil
	}
	return nil, fmt.Errorf("the digest %q is not available; there are SHA-1, SHA-256, SHA-384 and SHA-512", algorithm)
}

func digest(algorithm string, b []byte) (string, error) {
	newHash, err := hashOf(algorithm)
	if err != nil {
		return "", err
	}
	h := newHash()
	_, _ = h.Write(b) // never fails
	return pack(h.Sum(nil)), nil
}

// sign returns the HMAC of bytes.
func sign(algorithm string, key, b []byte) (string, error) {
	newHash, err := hashOf(algorithm)
	if err != nil {
		return "", err
	}
	h := hmac.New(newHash, key)
	_, _ = h.Write(b) // never fails
	return pack(h.Sum(nil)), nil
}

// parseURL returns the parts of a URL as JSON.
func parseURL(text, base string) (string, error) {
	var u *url.Url
	var err error
	if base == "" {
		u, err = url.Parse(text)
	} else {
		u, err = url.ParseRef(base, text)
	}
	if err != nil {
		return "", fmt.Errorf("invalid URL: %q", text)
	}
	return urlParts(u)
}

// setURL returns the parts of a URL of which one is replaced. What the part cannot be is ignored.
func setURL(text, part, value string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", err
	}
	switch part {
	case "protocol":
		u.SetProtocol(value)
	case "username":
		u.SetUsername(value)
	case "password":
		u.SetPassword(value)
	case "host":
		u.SetHost(value)
	case "hostname":
		u.SetHostname(value)
	case "port":
		u.SetPort(value)
	case "pathname":
		u.SetPathname(value)
	case "search":
		u.SetSearch(value)
	case "hash":
		u.SetHash(value)
	}
	return urlParts(u)
}

func urlParts(u *url.Url) (string, error) {
	origin := "null"
	if u.IsSpecialScheme() && u.Scheme() != "file" {
		origin = u.Protocol() + "//" + u.Host()
	}
	b, err := json.Marshal(map[string]string{
		"href": u.Href(false), "origin": origin, "protocol": u.Protocol(), "username": u.Username(), "password": u.Password(),
		"host": u.Host(), "hostname": u.Hostname(), "port": u.Port(), "pathname": u.Pathname(), "search": u.Search(), "hash": u.Hash(),
	})
	return string(b), err
}

// parseQuery returns the names and values of a query as JSON.
func parseQuery(query string) (string, error) {
	pairs := [][2]string{}
	for pair := range strings.SplitSeq(strings.TrimPrefix(query, "?"), "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		pairs = append(pairs, [2]string{unescape(name), unescape(value)})
	}
	b, err := json.Marshal(pairs)
	return string(b), err
}

// unescape decodes + and escapes. A percent sign that begins no escape stays, as on the web.
func unescape(s string) string {
	s = strings.ReplaceAll(s, "+", " ")
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "%")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		s = after
		if c, err := hex.DecodeString(after[:min(2, len(after))]); err == nil && len(c) == 1 {
			b.Write(c)
			s = after[2:]
		} else {
			b.WriteByte('%')
		}
	}
}

// formatQuery is the reverse of parseQuery.
func formatQuery(text string) (string, error) {
	var pairs [][2]string
	if err := json.Unmarshal([]byte(text), &pairs); err != nil {
		return "", err
	}
	escape := func(s string) string {
		return strings.NewReplacer("~", "%7E", "%2A", "*").Replace(neturl.QueryEscape(s))
	}
	var b strings.Builder
	for i, p := range pairs {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(escape(p[0]) + "=" + escape(p[1]))
	}
	return b.String(), nil
}
