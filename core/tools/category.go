package tools

import "strings"

// A Category is what a tool is for.
type Category string

// The categories.
const (
	Browser       Category = "browser"
	Database      Category = "database"
	GitHub        Category = "github"
	Docker        Category = "docker"
	Filesystem    Category = "filesystem"
	Orchestration Category = "orchestration" // channels, schedules and other agents
	Meta          Category = "meta"          // the tools themselves
	Utility       Category = "utility"       // what computes or checks something, and everything else
)

// Categories returns all categories.
func Categories() []Category {
	return []Category{Browser, Database, GitHub, Docker, Filesystem, Orchestration, Meta, Utility}
}

// categoryOf returns the category that a tool has in a registry. Checks and data are utilities wherever
// they come from.
func categoryOf(t *Tool) Category {
	if t.Category == "" || strings.HasPrefix(t.Name, "assert_") || strings.HasPrefix(t.Name, "data_") {
		return Utility
	}
	return t.Category
}
