// Package contrib holds ready-made service files, which are also the templates of the files
// that the program installs.
package contrib

import "embed"

// SystemdUser holds the units for a user's systemd, in systemd/user. Paths are below %h.
//
//go:embed systemd/user
var SystemdUser embed.FS
