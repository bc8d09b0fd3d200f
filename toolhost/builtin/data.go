package builtin

import "bareclaw/core/tools"

func dataTools() []tools.Tool { return nil }
