package builtin

import "bareclaw/core/tools"

func reportTools() []tools.Tool { return nil }
