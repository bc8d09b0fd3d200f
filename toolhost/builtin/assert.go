package builtin

import "bareclaw/core/tools"

func assertTools() []tools.Tool { return nil }
