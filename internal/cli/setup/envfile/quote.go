package envfile

import (
	"strings"

	"bareclaw/core/config"
)

// plain are the characters that mean nothing to those who read a .env, a shell and
// systemd included.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,~"

// quote returns how a value is written, and false if a .env cannot hold it. There is no
// one way for all: in single quotes there can be no single quote, in double ones no
// backslash before the end, and so on. So it is tried which of the ways is read as the
// value, those first that a shell reads alike.
func quote(value string) (string, bool) {
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "\n", `\n`, "\r", `\r`).Replace(value)
	dollars := strings.ReplaceAll(value, "$", `\$`)
	// A reference to a variable that no file sets stands for nothing, and keeps quotes
	// that belong to the value apart from those around it.
	const nothing = "${_}"
	bare := nothing + strings.NewReplacer(" #", " "+nothing+"#", "\t#", "\t"+nothing+"#").Replace(dollars)
	ways := []string{"'" + value + "'", `"` + escaped + `"`, dollars, `"` + escaped + nothing + `"`, bare, bare + nothing}
	if value != "" && strings.Trim(value, plain) == "" {
		ways = append([]string{value}, ways...)
	}
	for _, way := range ways {
		// The line after it must be read as well.
		vars, ok := config.ParseDotEnv([]byte("BEFORE=1\nNAME=" + way + "\nAFTER=1\n"))
		if ok && len(vars) == 3 && vars["NAME"] == value && vars["AFTER"] == "1" {
			return way, true
		}
	}
	return "", false
}
