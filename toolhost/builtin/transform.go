package builtin

import "bareclaw/core/tools"

func transformTools() []tools.Tool { return nil }
