package doctor

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/config"
	"bareclaw/internal/term"
)

func checkConfiguration(_ context.Context, r *report) {
	for _, p := range r.Report.Problems {
		if slices.ContainsFunc(r.Report.Files, func(f config.EnvFile) bool { return f.Path == p.Source && f.Distrust != "" }) {
			continue // checkEnvFile reports the file
		}
		r.problem("setting_wrong", p.Source+": "+p.Problem+".",
			"The gateway does not start with it, and a restart is refused.", settingCommand(p, r.Report.Files))
	}
	for _, w := range r.cfg.Warnings() {
		r.warning("setting_odd", term.SafeSentence(w), "The setting has no effect, or an unexpected one.", "")
	}
	if len(r.Report.Problems) == 0 {
		r.ok("Every setting can be used; %s.", filesRead(r.Report.Files))
	}
	for _, f := range r.Report.Files {
		checkEnvFile(r, f)
	}
	if r.Report.Unread != "" {
		r.note("env_unread", r.Report.Unread+" is not read: no gateway was started or set up in this directory.",
			"It may be somebody else's, as in a cloned repository. A gateway that is started here reads it, and then commands do.",
			"`bareclaw serve`, if these are settings of yours")
	}
	if client.Inherited() != nil {
		r.note("inside_session", "This runs within a session of the gateway, where its settings are not known.",
			"The findings may be about another configuration than that of the session's gateway.",
			"run it in a terminal of your own")
	}
}

func settingCommand(p *config.Problem, files []config.EnvFile) string {
	switch {
	case strings.Contains(p.Source, "/"):
		file, _, _ := strings.Cut(p.Source, ":")
		if i := slices.IndexFunc(files, func(f config.EnvFile) bool { return f.Path == file }); i >= 0 && unix.Access(file, unix.R_OK) != nil {
			return makeOurs(file, files[i].Owner, os.Getuid())
		}
		return "edit " + quote(file)
	case p.Accepted != "":
		return "set " + p.Source + " to " + p.Accepted
	}
	return "set " + p.Source
}

func filesRead(files []config.EnvFile) string {
	var read []string
	for _, f := range files {
		if f.Found {
			read = append(read, f.Path)
		}
	}
	if len(read) == 0 {
		return "there is no .env file"
	}
	return "read from " + strings.Join(read, ", then ")
}

func checkEnvFile(r *report, f config.EnvFile) {
	if f.Distrust != "" {
		r.problem("env_owner", fmt.Sprintf("%s: %s, so nothing of it is used.", f.Path, f.Distrust),
			"The gateway does not start where it is read, and no command works there. Read what it says before you make it yours.",
			makeOurs(f.Path, f.Owner, os.Getuid()))
	}
	if f.Found && f.Mode&0o077 != 0 && len(f.Secrets) > 0 {
		r.problem("env_readable",
			fmt.Sprintf("%s holds %s and is open to others (mode %04o).", f.Path, strings.Join(f.Secrets, ", "), f.Mode),
			"Whoever can read it can command the gateway, and so run programs as this user.", "chmod 600 "+quote(f.Path)).
			by(func(context.Context) error { return os.Chmod(f.Path, 0o600) })
	}
}

// makeOurs returns the command that makes a file readable and writable by its user
// alone. Changing the owner requires root.
func makeOurs(path string, owner, user int) string {
	mode := "chmod 600 " + quote(path)
	if owner == user {
		return mode
	}
	return fmt.Sprintf("`chown %d %s && %s`, as root", user, quote(path), mode)
}
