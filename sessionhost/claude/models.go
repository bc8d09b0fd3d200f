package claude

// Models are the names that the CLI offers for its models, the default first. The CLI takes any
// other name too, and leaves it to the API.
func Models() []string { return []string{"opus", "fable", "sonnet", "haiku"} }
