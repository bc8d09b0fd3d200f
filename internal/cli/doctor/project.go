package doctor

import (
	"context"
	"fmt"
	"strings"

	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/sessionhost/claude"
)

const settingSources = "BARECLAW_SETTING_SOURCES"

// checkProject names the files by which the directory that claude works in, which may be a cloned
// repository, decides what is run. Somebody who has set BARECLAW_SETTING_SOURCES has decided.
func checkProject(_ context.Context, r *report) {
	if r.cfg.Claude.Agent != config.AgentEcho && r.cfg.Files.CWD != "" {
		r.project(string(r.cfg.Files.CWD), r.Environ)
	}
}

// Project returns the finding of the check "project" about a directory, for a gateway with an
// environment.
func Project(dir string, environ []string) Finding {
	r := &report{}
	r.project(dir, environ)
	return r.found[0].of("project")
}

func (r *report) project(dir string, environ []string) {
	sources := service.Lookup(environ, settingSources)
	if sources != "" && sources != string(config.SettingSourcesAll) {
		r.ok("Claude follows your own settings alone, and not those of %s.", dir)
		return
	}
	files := claude.ProjectFiles(dir, claudeDir(environ))
	acts := make([]string, len(files))
	for i, f := range files {
		acts[i] = f.Path + " " + strings.Join(f.Acts, " and ")
	}
	switch what := strings.Join(acts, "; "); {
	case len(files) == 0:
		r.ok("Nothing in %s has Claude run programs, change its variables or do more unasked.", dir)
	case sources != "":
		r.ok("Claude does what files of its directory say, as %s=%s allows: %s.", settingSources, sources, what)
	default:
		r.warning("project_acts", fmt.Sprintf("Claude does without asking what files of its directory (BARECLAW_CWD) say: %s.", what),
			"Whoever writes these files may run programs as you, and choose where your messages and your login go.",
			"read them; then set "+settingSources+"=user, so that your own settings alone count, or =all if you trust them")
	}
}
