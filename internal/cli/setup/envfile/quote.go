package envfile

import (
	"strings"

	"bareclaw/core/config"
)

// plain are the characters without a special meaning in a .env, a shell and systemd.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,~"

// quote returns a value in quotes, and false if a .env cannot hold the value. No way of
// quoting fits all values, so quote tries each way, beginning with those that a shell
// reads alike.
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
