package main

import "runtime/debug"

// release is set by release builds: -ldflags "-X main.release=v1.2.3".
var release string

// version names this build: the release, or the commit it was built from.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "dev-" + s.Value[:min(len(s.Value), 12)]
		}
	}
	return "dev"
}
