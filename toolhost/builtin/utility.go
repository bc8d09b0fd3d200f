package builtin

import "bareclaw/core/tools"

func utilityTools() []tools.Tool { return nil }
