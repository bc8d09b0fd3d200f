package builtin

import "bareclaw/core/tools"

func testTools() []tools.Tool { return nil }
