package claude

// The versions of the CLI that this project is tested with, from and to.
const (
	TestedFrom = "2.1.329"
	TestedTo   = "2.1.329"
)
