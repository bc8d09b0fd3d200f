package capture

import "strings"

// isSecretName reports whether a value of this name is a secret: a key of JSON, a parameter, a header
// or a variable, however its words are joined. Names that end with such a name count too, as db_password does.
func isSecretName(name string) bool {
	const longest = 128
	if len(name) < len("pwd") || len(name) > longest {
		return false
	}
	var joined [longest]byte
	n := 0
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_', c == '-', c == '.', c == ' ':
			continue
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		joined[n] = c
		n++
	}
	return endsSecret(joined[:n])
}

func endsSecret(name []byte) bool {
	if len(name) == 0 {
		return false
	}
	// The last letter rules out most names.
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
		return ends(name, "passphrase")
	}
	return false
}

func ends(name []byte, with string) bool {
	return len(name) >= len(with) && string(name[len(name)-len(with):]) == with
}

// isOwnMask reports whether the app itself has put something in the place of a secret.
func isOwnMask(value string) bool {
	if value == "" {
		return true
	}
	switch strings.ToUpper(strings.Trim(value, "[]<>{}()*")) {
	case "", "REDACTED", "FILTERED", "MASKED", "HIDDEN", "CHANGE_ME", "CHANGEME":
		return true
	}
	same := strings.Trim(value, "xX") == "" || strings.Trim(value, "*•.") == ""
	return same
}
