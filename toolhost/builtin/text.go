package builtin

import "bareclaw/core/tools"

func textTools() []tools.Tool { return nil }
