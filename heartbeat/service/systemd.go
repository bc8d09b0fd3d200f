package service

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"bareclaw/contrib"
	"bareclaw/internal/humanize"
)

// The units are those of contrib/systemd/user, with other paths. Each systemd setting has
// separate syntax rules: systemd.syntax(7), systemd.service(5), systemd.exec(5), and, for
// undocumented cases, the behavior of systemd 252. Every setting expands specifiers,
// sequences that begin with %.
//
//   - Child processes outlive the units (KillMode): session hosts outlive the gateway, and a
//     gateway outlives the heartbeat that started the gateway.
//   - systemd retries a failing gateway for some minutes, then leaves the failed unit for a
//     person to inspect. The shell runs kill, because the path of kill varies between
//     systems. An out-of-memory kill of a single claude must not stop the service (OOMPolicy).
//   - Nothing bounds what the processes may do: claude works there as the person who has
//     installed the units. NoNewPrivileges would take sudo, containers without root and crontab
//     away; UMask=0077 would hide what claude makes from web servers and colleagues, and the
//     gateway makes its own files private by itself. The unit for a whole system has both.
//   - systemd runs no two ticks at once, and a hanging tick would block all later ticks. A
//     working tick abandons its work after half an hour (TimeoutStartSec).
func systemdFiles(job Job, spec Spec, dirs Dirs) (files []File, err error) {
	env := job.envFile(spec, dirs)
	program, err := execPath(spec.Binary)
	if err != nil {
		return nil, err
	}
	for what, path := range map[string]string{"the working directory": spec.Dir, "the file of settings": env.Path} {
		if err := checkPath(what, path); err != nil {
			return nil, err
		}
		// systemd drops trailing spaces, and joins the next line after a backslash.
		if strings.HasSuffix(path, `\`) || strings.TrimSpace(path) != path {
			return nil, fmt.Errorf("%s, %q, ends with a space or a backslash, which a unit of systemd cannot say", what, path)
		}
	}
	if strings.ContainsFunc(spec.Listen, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`%\"'`, r) }) {
		return nil, fmt.Errorf("systemd cannot listen on %q", spec.Listen)
	}
	section := "\n[Service]"
	if spec.Listen != "" && job == Gateway { // else the gateway would bind the address, and the socket unit would fail
		section = "Requires=" + socketUnit + "\nAfter=" + socketUnit + "\n" + section
	}
	interval := humanize.Span(max(spec.Interval.Round(time.Second), time.Second))
	values := strings.NewReplacer(
		"\n[Service]", section,
		"%h/.local/bin/bareclaw", program,
		"WorkingDirectory=%h", "WorkingDirectory="+specifiers(spec.Dir), // the rest of the line literally, without unquoting
		"%h/.config/bareclaw/"+job.names().envFile, specifiers(escapeGlob(env.Path)),
		"every 1h", "every "+interval, "OnUnitActiveSec=1h", "OnUnitActiveSec="+interval,
		"ListenStream=127.0.0.1:3000", "ListenStream="+spec.Listen,
	)
	for _, name := range job.names().units {
		if name == socketUnit && spec.Listen == "" {
			continue
		}
		template, err := contrib.SystemdUser.ReadFile("systemd/user/" + name)
		if err != nil {
			return nil, fmt.Errorf("write the unit %s: %w", name, err)
		}
		files = append(files, File{Path: filepath.Join(dirs.unitDir(), name), Mode: 0o644, Text: values.Replace(string(template))})
	}
	return append(files, env), nil
}

func specifiers(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// execPath formats the program path of ExecStart=. systemd unquotes the path like any
// word but expands no variables, and refuses quotes and backslashes in the path even
// when escaped.
func execPath(path string) (string, error) {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@:,"
	if strings.ContainsAny(path, `"'\`) {
		return "", fmt.Errorf("systemd starts no program whose path has quotes or backslashes, as %s has: put bareclaw somewhere else", path)
	}
	if strings.Trim(path, plain) != "" {
		return `"` + specifiers(path) + `"`, nil
	}
	return path, nil
}

// escapeGlob returns a glob pattern that matches only path.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(path)
}
