package claude

// The first and last version of the CLI that the project is tested with.
const (
	TestedFrom = "2.1.329"
	TestedTo   = "2.1.329"
)
