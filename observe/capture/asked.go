package capture

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Asked returns the same 16 hex digits for requests that asked for the same, by the same method, URL, cookies,
// credentials and body, and "" if it is not known whether they did: the body was not kept whole, or what was
// masked may differ.
func (r *Request) Asked() string {
	sent := &r.Sent
	if sent.Size > 0 && (sent.Body == nil || sent.Cut) {
		return ""
	}
	parts := []string{r.Method, r.URL, sent.Media, string(sent.Body)}
	for _, part := range parts {
		if strings.Contains(part, maskBegin) {
			return ""
		}
	}
	// Of these the names and lengths are known.
	parts = append(parts, sent.Header.Get("Authorization"), sent.Header.Get("Cookie"))
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}
