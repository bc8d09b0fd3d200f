package claude

// ToolTarget says what a tool call works on, if its input shows it: a command, a
// path, an address. It is for display, at most 200 bytes.
func ToolTarget(input []byte) string { return target(input) }
