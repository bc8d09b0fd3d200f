package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/config"
	"bareclaw/internal/humanize"
	"bareclaw/internal/withheld"
	toolhost "bareclaw/toolhost/api"
)

func checkTools(ctx context.Context, r *report) {
	if dir := r.cfg.ToolsDir(); dir != "" {
		checkToolsDir(r, dir)
		if snapshots := toolhost.SnapshotsDir(dir); exists(snapshots) && unix.Access(snapshots, unix.W_OK|unix.X_OK) != nil {
			r.warning("tools_unwritable", "The snapshots of tools in "+snapshots+" cannot be written.",
				"Tools cannot be rolled back to a state that is not kept.", "ls -ld "+quote(snapshots))
		}
	}
	for _, g := range r.cfg.Claude.Tools.Grants {
		if g.Dir != "" {
			checkGrant(r, g)
		}
	}
	if r.cfg.Claude.Tools.HostAddr != "" && !r.Report.Wrong("BARECLAW_TOOLHOST_ADDR") {
		checkToolAddress(ctx, r, string(r.cfg.Claude.Tools.HostAddr))
	}
	if runtime.GOOS == "linux" { // other systems have no Landlock
		abi, err := landlock.LandlockGetABIVersion()
		judgeLandlock(r, abi, err)
	}
	if h, err := r.health(); err == nil && h.Tools != nil && h.Tools.Host.Healthy { // else checkGateway reports what is wrong
		r.ok("The tool host (pid %d) runs; there are %d tools, %d of them from files.",
			h.Tools.Host.PID, h.Tools.Count(), h.Tools.Dynamic)
	}
}

func checkToolsDir(r *report, dir string) {
	const why = "No tool of a file works."
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if parent := existing(dir); unix.Access(parent, unix.W_OK|unix.X_OK) != nil {
			r.problem("tools_unusable", fmt.Sprintf("The tools directory %s (BARECLAW_TOOLS_DIR) cannot be made: %s cannot be written.", dir, parent), why,
				"`mkdir -p -m 700 "+quote(dir)+"`, as a user who may")
			return
		}
		r.ok("The tools directory %s does not exist yet; the gateway makes it.", dir)
	case err != nil || !info.IsDir() || unix.Access(dir, unix.R_OK|unix.X_OK) != nil:
		r.problem("tools_unusable", fmt.Sprintf("The tools directory %s (BARECLAW_TOOLS_DIR) is not a directory, or cannot be read.", dir), why, "ls -ld "+quote(dir))
	case unix.Access(dir, unix.W_OK) != nil:
		r.warning("tools_unwritable", fmt.Sprintf("The tools directory %s (BARECLAW_TOOLS_DIR) cannot be written.", dir),
			"Claude can make, replace and delete no tools.", "ls -ld "+quote(dir))
	case info.Mode().Perm()&0o022 != 0:
		r.warning("tools_open", fmt.Sprintf("Others can write in the tools directory %s (mode %04o).", dir, info.Mode().Perm()),
			"Whoever can write there makes tools that Claude calls, with all that BARECLAW_TOOL_GRANTS grants.", "chmod go-w "+quote(dir)).
			by(func(context.Context) error { return os.Chmod(dir, info.Mode().Perm()&^0o022) })
	default:
		r.ok("The tools directory %s can be read and written.", dir)
	}
}

// checkGrant checks a granted directory.
func checkGrant(r *report, g config.ToolGrant) {
	const change = "change BARECLAW_TOOL_GRANTS, or make the directory"
	info, err := os.Stat(g.Dir)
	if err != nil || !info.IsDir() || unix.Access(g.Dir, unix.R_OK|unix.X_OK) != nil {
		r.warning("grant_unusable", fmt.Sprintf("Tools may use the directory %s (BARECLAW_TOOL_GRANTS), which is not there or cannot be read.", g.Dir),
			"Tools that need it fail.", change)
		return
	}
	never := withheld.Dirs(append(r.cfg.OwnDirs(), r.cfg.ToolsDir(), toolhost.SnapshotsDir(r.cfg.ToolsDir()), toolhost.GoodDir(r.cfg.ToolsDir())))
	if dir, err := filepath.EvalSymlinks(g.Dir); err == nil && never.Contain(dir) {
		r.warning("grant_withheld", fmt.Sprintf("Tools cannot use the directory %s, which BARECLAW_TOOL_GRANTS names: %v.", g.Dir, withheld.ErrWithheld),
			"Tools that need it fail.", "change BARECLAW_TOOL_GRANTS")
	}
}

// checkToolAddress checks the further address of the tool host.
func checkToolAddress(ctx context.Context, r *report, address string) {
	if !r.holder().alive {
		if _, port, _ := net.SplitHostPort(address); port != "0" && !refuses(ctx, address) {
			number, _ := strconv.Atoi(port) // checked as the setting was read
			r.problem("toolhost_port_taken", fmt.Sprintf("Port %s (BARECLAW_TOOLHOST_ADDR) is used by %s.", port, cmp.Or(listener(number), "another program")), "The gateway does not start while it is.",
				"stop that program, or set BARECLAW_TOOLHOST_ADDR to another port")
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, healthBound)
	defer cancel()
	var said toolhost.Health
	err := client.At(r.cfg, address, true, "BARECLAW_TOOLHOST_ADDR").Do(ctx, http.MethodGet, toolhost.PathHealth, nil, &said)
	if refused, isRefusal := errors.AsType[*client.Error](err); isRefusal && refused.Status == http.StatusServiceUnavailable {
		err = nil // the gateway says so itself
	}
	if err != nil {
		r.warning("toolhost_silent", fmt.Sprintf("The tool host does not answer at %s (BARECLAW_TOOLHOST_ADDR): %v.", address, err),
			"The gateway was started with other settings; programs that use the address fail.", "bareclaw restart")
		return
	}
	r.ok("The tool host answers at %s; loaded: %s.", address, humanize.Count(said.ToolCount, "tool"))
}

// judgeLandlock notes a kernel that does not keep the tool host from reading files.
func judgeLandlock(r *report, abi int, err error) {
	if err != nil {
		r.note("landlock_missing", "The kernel cannot keep the tool host from reading your files: it has no Landlock, or Landlock is switched off.",
			"Scripts have no way to files of their own; the kernel would be a second wall. Whatever else the tool host does not need is refused all the same.", "")
		return
	}
	r.ok("The kernel keeps the tool host from files (Landlock, version %d).", abi)
}
