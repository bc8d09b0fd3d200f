package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/humanize"
	"bareclaw/internal/mdtext"
	"bareclaw/mcp/mounts"
)

// checkMounts examines how the mounted servers do at a gateway that runs, and the file that describes them.
func checkMounts(_ context.Context, r *report) {
	path := filepath.Join(r.cfg.ConfigDir, mounts.FileName)
	now, err := r.mounts()
	runs := err == nil
	if now.Problem != "" {
		r.unreadable(path, now.Problem)
	}
	for i := range now.Mounts {
		r.judgeMount(&now.Mounts[i], path)
	}
	count := len(now.Mounts)
	info, err := os.Stat(path)
	isThere := r.cfg.ConfigDir != "" && !errors.Is(err, fs.ErrNotExist)
	if isThere && err == nil && info.Mode().Perm()&0o077 != 0 {
		r.problem("mounts_readable", fmt.Sprintf("%s is open to others (mode %04o).", path, info.Mode().Perm()),
			"It may hold secrets of the mounted servers, and says which programs the gateway runs.", "chmod 600 "+quote(path)).
			by(func(context.Context) error { return os.Chmod(path, 0o600) })
	}
	if isThere && !runs {
		count = r.checkFile(path)
	}
	switch {
	case len(r.found) > 0:
	case count == 0:
		r.ok("No servers of other people are mounted.")
	default:
		r.ok("%s mounted, as %s says.", humanize.Count(count, "server"), path)
	}
}

// checkFile examines the file of mounted servers while no gateway does, and returns how many it describes.
func (r *report) checkFile(path string) (count int) {
	file, err := mounts.Read(path)
	if err != nil {
		r.unreadable(path, err.Error())
		return 0
	}
	for _, name := range file.Names() {
		server, err := file.Server(name)
		switch {
		case err != nil:
			r.unusable(path, err.Error())
		case !server.Disabled:
			r.checkServer(&server)
		}
	}
	return len(file.Names())
}

func (r *report) unreadable(path, problem string) {
	r.problem("mounts_unreadable", "The file of mounted servers cannot be read: "+strings.TrimRight(problem, ".\n ")+".",
		"A gateway that starts mounts none of them; one that runs goes on with what the file said before.", "edit "+quote(path))
}

func (r *report) unusable(path, problem string) {
	r.problem("mount_unusable", "An entry of "+path+" cannot be used: "+strings.TrimRight(problem, ".\n ")+".", "Its tools are not there.", "edit "+quote(path))
}

// mountProblems returns the problems of the gateway that checkMounts tells.
func (r *report) mountProblems() []string {
	now, err := r.mounts()
	if err != nil {
		return nil
	}
	return now.Problems()
}

// judgeMount reports what a person should do about a server of a gateway that runs, which reads a file.
func (r *report) judgeMount(m *api.Mount, path string) {
	if m.State == api.MountUnusable {
		r.unusable(path, m.Problem)
	}
	if m.State == api.MountFailing {
		r.warning("mount_failing", fmt.Sprintf("The mounted server %s does not start: %s.", m.Name, mdtext.Stopless(m.Problem)),
			"Its tools cannot be called. It is tried again, with growing pauses.", "`bareclaw mount test "+m.Name+"` tries at once, and `bareclaw logs` has what it has said")
	}
	if n := len(m.LeftOut); n > 0 {
		r.warning("mount_left_out", fmt.Sprintf("The mounted server %s has left out %s; the first one: %s.", m.Name, humanize.Count(n, "tool"), mdtext.Stopless(m.LeftOut[0])),
			"They are not offered to anybody.", "")
	}
	if n := len(m.Changed); n > 0 {
		r.note("mount_changed", fmt.Sprintf("The mounted server %s has changed %s since you know them: %s.", m.Name, humanize.Count(n, "tool"), humanize.Shorten(strings.Join(m.Changed, ", "), 200)),
			"They ask anew before they run, and show what has changed.", "bareclaw mount test "+m.Name)
	}
}

// checkServer looks at a server that no gateway runs.
func (r *report) checkServer(server *mounts.Server) {
	path := service.Lookup(r.Environ, "PATH")
	if r.Spec.Path != "" { // of a service
		path = r.Spec.Path
	}
	expanded, err := server.Expanded(func(name string) (string, bool) {
		value := service.Lookup(r.Environ, name)
		return value, value != ""
	})
	missing, isMissing := errors.AsType[*mounts.MissingError](err)
	switch {
	case isMissing:
		r.warning("mount_variable", fmt.Sprintf("The mounted server %s needs variables that are not set: %s.", server.Name, strings.Join(missing.Variables, ", ")),
			"It does not start without them.", "set them in "+quote(filepath.Join(r.cfg.ConfigDir, ".env")))
	case err != nil:
		r.problem("mount_unusable", "With its variables a server cannot be used: "+err.Error()+".", "Its tools are not there.", "")
	case expanded.Command != "" && !isInPath(expanded.Command, path):
		r.warning("mount_program", fmt.Sprintf("The program %q of the mounted server %s is not there; it was looked for in %s.", expanded.Command, server.Name, path),
			"The server does not start.", "install it, or write its whole path: bareclaw mount add --replace")
	}
}

// isInPath reports whether a program is found in the directories of a PATH.
func isInPath(program, path string) bool {
	if strings.ContainsRune(program, filepath.Separator) {
		_, err := exec.LookPath(program)
		return err == nil
	}
	for _, dir := range filepath.SplitList(path) {
		if _, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return true
		}
	}
	return false
}
