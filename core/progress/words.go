package progress

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"bareclaw/internal/humanize"
	"bareclaw/internal/visible"
)

// maxLine bounds a tool's name with its target, in characters.
const maxLine = 80

// elapsed rounds a duration to steps, so a status need not change every second.
func elapsed(d time.Duration) string { return clock(d.Truncate(step(d))) }

// step returns 5 s in the first minute, 15 s up to ten minutes, and 30 s afterwards.
func step(d time.Duration) time.Duration {
	switch {
	case d < time.Minute:
		return 5 * time.Second
	case d < 10*time.Minute:
		return 15 * time.Second
	}
	return 30 * time.Second
}

// nextStep returns the time at which elapsed, counted from since, changes next.
func nextStep(since, now time.Time) time.Time {
	d := max(0, now.Sub(since))
	return since.Add(d.Truncate(step(d)) + step(d))
}

// clock formats a duration as m:ss, or h:mm:ss.
func clock(d time.Duration) string {
	s := int(max(0, d) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// toolName returns a tool's display name. The tools of MCP servers are named
// mcp__server__tool.
func toolName(tool string) string {
	if rest, ok := strings.CutPrefix(tool, "mcp__"); ok {
		tool = strings.ReplaceAll(rest, "__", " ")
	}
	return humanize.Shorten(visible.Words(tool), maxLine/2)
}

var fileTools = []string{"Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "NotebookRead", "LS"}

// targetText shortens a tool's target to at most room characters: a command to its first
// line, a file to the end of its path, relative to dir for a file inside dir.
func targetText(tool, target, dir string, room int) string {
	target = strings.TrimSpace(target)
	if slices.Contains(fileTools, tool) || strings.HasPrefix(target, "/") && tool != "Bash" {
		return cutPath(visible.Words(fromDir(target, dir)), room)
	}
	first, rest, _ := strings.Cut(target, "\n")
	if rest != "" {
		first = strings.TrimSpace(first) + " …"
	}
	return humanize.Shorten(visible.Words(first), room)
}

// fromDir returns the path of file relative to dir if file is in dir.
func fromDir(file, dir string) string {
	if dir == "" || !path.IsAbs(file) {
		return file
	}
	if rest, ok := strings.CutPrefix(path.Clean(file), path.Clean(dir)+"/"); ok {
		return rest
	}
	return file
}

// cutPath shortens a path at its beginning, between two names if possible.
func cutPath(s string, room int) string {
	r := []rune(s)
	if len(r) <= room {
		return s
	}
	end := string(r[len(r)-max(0, room-1):])
	if i := strings.IndexByte(end, '/'); i > 0 {
		end = end[i:]
	}
	return "…" + end
}

func labelled(tool, target string) string {
	if target == "" {
		return tool
	}
	return tool + ": " + target
}
