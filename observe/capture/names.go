package capture

import "strings"

// A secrecy says which values of a name are secrets.
type secrecy uint8

const (
	notSecret secrecy = iota
	// secretText is for names such as max_tokens: their numbers count, and texts are secrets.
	secretText
	secretAll
)

// hides reports whether the value, which is not quoted, is a secret.
func (s secrecy) hides(value string) bool {
	return s == secretAll || s == secretText && strings.Trim(value, "0123456789.,_-+ []") != ""
}

// secrecyOf returns which values of a name are secrets: of a key of JSON, a parameter, a header or a variable.
// The name of a secret has a secret word, wherever it stands, and however its words are joined. It is none if a
// later word ends it that says something about the secret: see isAbout.
func secrecyOf[T string | []byte](name T) secrecy {
	if !hasSecretPair(name) {
		return notSecret
	}
	var w nameWords
	if len(name) > longestName {
		name = name[len(name)-longestName:]
	}
	for i := range len(name) {
		var before, after byte
		if i > 0 {
			before = name[i-1]
		}
		if i+1 < len(name) {
			after = name[i+1]
		}
		w.add(before, name[i], after)
	}
	return w.secrecy()
}

// isSecretName reports whether values of the name are secrets.
func isSecretName(name string) bool { return secrecyOf(name) != notSecret }

// secretPairs has two letters in a row of each secret word, so that most names need no further look.
var secretPairs = pairsOf("pa pw pi tp sk jw ec ok ey ss nn za cv rf")

// pairsOf returns, for each letter, the letters that may follow it.
func pairsOf(list string) (pairs [32]uint32) {
	for pair := range strings.FieldsSeq(list) {
		pairs[pair[0]&31] |= 1 << (pair[1] & 31)
	}
	return pairs
}

// hasSecretPair is false for names that have no secret word. It takes other bytes for letters, and so may be true for more.
func hasSecretPair[T string | []byte](name T) bool {
	before := byte(0)
	for i := range len(name) {
		c := name[i] & 31
		if secretPairs[before]>>c&1 != 0 {
			return true
		}
		before = c
	}
	return false
}

// longestName is how much of a name is looked at, from its end, in bytes.
const longestName = 128

// nameWords are the words of a name in lowercase, without what is between them.
type nameWords struct {
	letters [longestName]byte
	length  int
	ends    [longestName]uint8
	count   int
	inWord  bool
}

// add takes the next byte of the name. Words end before an upper letter, and where no letter is.
func (w *nameWords) add(before, c, after byte) {
	isUpper := 'A' <= c && c <= 'Z'
	lower := c | ('a' - 'A')
	if lower < 'a' || lower > 'z' {
		w.inWord = false
		return
	}
	begins := isUpper && (isLower(before) || isLower(after))
	if begins || !w.inWord {
		w.count++
	}
	w.inWord = true
	w.letters[w.length] = lower
	w.length++
	w.ends[w.count-1] = uint8(w.length)
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

// word returns a word, or nothing beyond the last one.
func (w *nameWords) word(at int) []byte {
	if at >= w.count {
		return nil
	}
	begin := uint8(0)
	if at > 0 {
		begin = w.ends[at-1]
	}
	return w.letters[begin:w.ends[at]]
}

func (w *nameWords) secrecy() secrecy {
	if endsSecret(w.letters[:w.length]) {
		return secretAll
	}
	found := notSecret
	last := w.count - 1
	for at := range w.count {
		end, s := w.secretAt(at)
		if s == notSecret {
			continue
		}
		if end < last && isAbout(w.word(last)) {
			return notSecret
		}
		found = max(found, s)
	}
	return found
}

// secretAt returns the secrecy of the secret word at the position, and where its last word stands.
func (w *nameWords) secretAt(at int) (end int, s secrecy) {
	word := w.word(at)
	next := w.word(at + 1)
	switch {
	case ends(word, "tokens"), string(word) == "cookies":
		return at, secretText
	case isSecretPair(word, next):
		return at + 1, secretAll
	case isShortSecret(word) && isOfShortSecret(next), string(word) == "cookie" && next == nil:
		return at, secretAll
	}
	word = withoutPlural(word)
	if endsSecret(word) || string(word) == "jwt" || ends(word, "sessid") {
		return at, secretAll
	}
	for _, begin := range []string{"password", "passwd"} {
		if len(word) > len(begin) && string(word[:len(begin)]) == begin && !isAbout(word[len(begin):]) {
			return at, secretAll
		}
	}
	return at, notSecret
}

func withoutPlural(word []byte) []byte {
	if ends(word, "s") && !ends(word, "ss") {
		return word[:len(word)-1]
	}
	return word
}

// endsSecret reports whether words that are joined end with those of a secret.
func endsSecret(name []byte) bool {
	if len(name) == 0 {
		return false
	}
	switch name[len(name)-1] {
	case 'd':
		return ends(name, "password") || ends(name, "passwd") || ends(name, "pwd") || ends(name, "sessionid") || string(name) == "connectsid"
	case 't':
		return ends(name, "secret")
	case 'n':
		return ends(name, "token") || ends(name, "authorization")
	case 'y':
		return ends(name, "apikey") || ends(name, "privatekey") || ends(name, "secretkey") || ends(name, "accesskey")
	case 'e':
		return ends(name, "passphrase") || ends(name, "passcode")
	}
	return false
}

func ends(name []byte, with string) bool {
	return len(name) >= len(with) && string(name[len(name)-len(with):]) == with
}

// isSecretPair knows secrets of two words, none of which is one by itself.
func isSecretPair(first, second []byte) bool {
	switch string(withoutPlural(second)) {
	case "key":
		switch string(first) {
		case "private", "secret", "access", "auth", "encryption", "signing", "subscription", "functions", "master":
			return true
		}
		return ends(first, "api")
	case "id":
		return ends(first, "session") || string(first) == "secret" // a secret_id is what Vault's roles log in with
	case "session":
		return string(first) == "x"
	}
	return false
}

// isShortSecret knows words that have other meanings too, so that they count only before isOfShortSecret.
func isShortSecret(word []byte) bool {
	switch string(word) {
	case "pass", "pw", "pin", "otp", "totp", "psk", "cvv", "cvc", "csrf", "xsrf", "sess":
		return true
	}
	return false
}

// isOfShortSecret reports whether a word may follow a short secret: none does in db_pass, one in pin_code, but none
// of these in pass_rate and pin_color.
func isOfShortSecret(word []byte) bool {
	switch string(word) {
	case "", "word", "wd", "phrase", "code", "hash", "confirm", "confirmation":
		return true
	}
	return false
}

// isAbout reports whether the last word of a name says that its value tells of a secret, and is none: of which kind or name
// it is (token_type), how many or how long (password_length), until when (token_expires_at), and where to get one
// (password_reset_url, in whose value secrets are looked for as in other text). Whatever else follows may be the secret
// itself, in another form (password_hash) or once more (password_confirmation).
func isAbout(word []byte) bool {
	switch string(word) {
	case "type", "name", "id", "version", "algorithm", "policy", "strength", "label":
		return true
	case "length", "len", "count", "size", "limit", "used", "usage", "rate", "details":
		return true
	case "at", "in", "expiry", "expires", "expiration", "ttl", "age":
		return true
	case "url", "uri", "endpoint", "path", "less":
		return true
	}
	return false
}

// isOwnMask reports whether a value is no secret: the app itself has put it in the place of one, or there is none.
func isOwnMask(value string) bool {
	const longest = 32
	const fewest = 3 // x
	if value == "" || strings.Trim(value, "*•.") == "" || len(value) >= fewest && strings.Trim(value, "xX") == "" {
		return true
	}
	if len(value) > longest {
		return false
	}
	switch strings.ToUpper(strings.Trim(value, "[]<>{}()*.!")) {
	case "", "REDACTED", "FILTERED", "MASKED", "HIDDEN", "CHANGE_ME", "CHANGEME":
		return true
	// What programs write for no value, and say of one.
	case "UNDEFINED", "NULL", "NONE", "NIL", "TRUE", "FALSE", "STRING", "REQUIRED", "MISSING", "INVALID", "INCORRECT", "EXPIRED":
		return true
	}
	return false
}
