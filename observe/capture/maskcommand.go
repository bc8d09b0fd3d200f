package capture

import "strings"

// maskCommand masks a command of Redis: what follows AUTH, or the first name of a secret in a key, a field or an option. It reports
// whether the text is such a command and has one.
func maskCommand(text string) (masked string, ok bool) {
	command, rest, _ := strings.Cut(text, " ")
	command = strings.ToLower(command)
	if !isCommand(command) || strings.Contains(text, "=") {
		return text, false
	}
	begin := len(command) + 1
	if command != "auth" {
		n := secretArgument(rest)
		if n < 0 {
			return text, false
		}
		begin += n
	}
	if begin >= len(text) {
		return text, false
	}
	return text[:begin] + maskValue(strings.TrimSpace(text[begin:])), true
}

func isCommand(command string) bool {
	switch command {
	case "auth", "hello", "migrate", "config", "acl", "get", "getex", "getdel", "del", "exists", "expire", "ttl", "mget":
		return true
	case "set", "setex", "psetex", "setnx", "getset", "mset", "hget", "hset", "hmset", "hsetnx", "hmget", "sadd", "lpush", "rpush":
		return true
	}
	return false
}

// secretArgument returns where the secret begins, behind its name, or -1.
func secretArgument(arguments string) int {
	const ends = " :"
	at := 0
	for at < len(arguments) {
		end := strings.IndexAny(arguments[at:], ends)
		if end < 0 {
			return -1
		}
		name := strings.Trim(arguments[at:at+end], `"'`)
		at += end + 1
		if secrecyOfQuery(name) != notSecret || strings.EqualFold(name, "auth") || strings.EqualFold(name, "auth2") || strings.EqualFold(name, "setuser") {
			return at
		}
	}
	return -1
}
