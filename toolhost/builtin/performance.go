package builtin

import "bareclaw/core/tools"

func performanceTools() []tools.Tool { return nil }
