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
	if r.cfg.Agent == config.AgentEcho || r.cfg.CWD == "" {
		return
	}
	if r.cfg.SettingSources != config.SettingSourcesAll {
		r.ok("Claude follows your own settings alone, and not those of %s.", r.cfg.CWD)
		return
	}
	files := claude.ProjectFiles(r.cfg.CWD, claudeDir(r.claudeEnviron()))
	acts := make([]string, len(files))
	for i, f := range files {
		acts[i] = f.Path + " " + strings.Join(f.Acts, " and ")
	}
	switch what := strings.Join(acts, "; "); {
	case len(files) == 0:
		r.ok("Nothing in %s makes Claude run programs or change its variables by itself.", r.cfg.CWD)
	case service.Lookup(r.Environ, settingSources) != "":
		r.ok("Claude does what files of its directory say, as %s=%s allows: %s.", settingSources, r.cfg.SettingSources, what)
	default:
		r.warning("project_acts", fmt.Sprintf("Claude does without asking what files of its directory (BARECLAW_CWD) say: %s.", what),
			"Whoever writes these files runs programs as you, and may choose where your messages and your login go.",
			"read them; then set "+settingSources+"=user, so that your own settings alone count, or =all if you trust them")
	}
}

// Project runs the check "project" for a directory and returns its finding.
func Project(ctx context.Context, o Options) Finding {
	return check{name: "project", run: checkProject}.first(ctx, o)
}
