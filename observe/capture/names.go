package capture

import "strings"

// isSecretName reports whether a value of this name is a secret: a key of JSON, a parameter, a header
// or a variable, however its words are joined. Names that end with such a name count too, as db_password does.
func isSecretName[T string | []byte](name T) bool {
	const longest = 128
	if len(name) < len("pwd") || len(name) > longest {
		return false
	}
	switch name[len(name)-1] | ('a' - 'A') {
	case 'd', 't', 'n', 'y', 'e':
	default:
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

// isOwnMask reports whether a value is no secret: the app itself has put it in the place of one, or there is none.
func isOwnMask(value string) bool {
	if value == "" {
		return true
	}
	switch strings.ToUpper(strings.Trim(value, "[]<>{}()*.!")) {
	case "", "REDACTED", "FILTERED", "MASKED", "HIDDEN", "CHANGE_ME", "CHANGEME":
		return true
	// What programs write for no value, and say of one.
	case "UNDEFINED", "NULL", "NONE", "NIL", "TRUE", "FALSE", "STRING", "REQUIRED", "MISSING", "INVALID", "INCORRECT", "EXPIRED":
		return true
	}
	const fewest = 3 // x
	return len(value) >= fewest && strings.Trim(value, "xX") == "" || strings.Trim(value, "*•.") == ""
}
