package cli

import "bareclaw/internal/plain"

// Plain returns a text from outside as a terminal may show it; see [plain.Text].
func Plain(s string) string { return plain.Text(s) }

// Line is Plain for a text that must stay on one line.
func Line(s string) string { return plain.Line(s) }
