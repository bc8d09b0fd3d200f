// Package buildinfo names the build of this program.
package buildinfo

import "runtime/debug"

// release is set by release builds: -ldflags "-X bareclaw/internal/buildinfo.release=v1.2.3".
var release string

// Version names this build: the release, or the commit of the source.
func Version() string {
	if release != "" {
		return release
	}
	if _, ok := debug.ReadBuildInfo(); !ok {
		return "unknown"
	}
	if c := Commit(); c != "" {
		return "dev-" + c[:min(len(c), 12)]
	}
	return "dev"
}

// Commit returns the commit of the source, or "" if the build does not record one.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
