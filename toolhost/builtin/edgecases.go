package builtin

import (
	"context"
	"strings"
)

type edgeArgs struct {
	Category string `json:"category,omitempty" enum:"sql_injection,xss,path_traversal,boundary,unicode,empty,all"`
	Limit    int    `json:"limit,omitempty" min:"1" jsonschema:"of each category"`
}

type edgeResult struct {
	Category string     `json:"category"`
	Count    int        `json:"count"`
	Cases    []edgeCase `json:"cases"`
}

type edgeCase struct {
	Category    string `json:"category"`
	Value       string `json:"value"`
	Description string `json:"description"`
}

func edgeCases(_ context.Context, in edgeArgs) (edgeResult, error) {
	names := []string{in.Category}
	if in.Category == "all" {
		names = []string{"sql_injection", "xss", "path_traversal", "boundary", "unicode", "empty"}
	}
	out := edgeResult{Category: in.Category, Cases: []edgeCase{}}
	for _, name := range names {
		all := edgeCasesOf(name)
		for _, c := range all[:min(in.Limit, len(all))] {
			out.Cases = append(out.Cases, edgeCase{name, c[0], c[1]})
		}
	}
	out.Count = len(out.Cases)
	return out, nil
}

// edgeCasesOf returns values with their descriptions.
func edgeCasesOf(category string) [][2]string {
	switch category {
	case "sql_injection":
		return [][2]string{
			{"' OR 1=1 --", "condition that is always true"},
			{"\" OR \"\"=\"", "the same with double quotes"},
			{"x'; DROP TABLE accounts; --", "second statement"},
			{"' UNION SELECT NULL, version() --", "rows of another query"},
			{"admin'/*", "comment that hides the rest"},
			{"1 AND SLEEP(5)", "delay, without quotes"},
			{"'||(SELECT 'x')||'", "concatenation"},
			{"\\' OR 1=1 #", "escaped quote"},
			{"%27%20OR%201%3D1", "encoded for a URL"},
			{"100%_[a-z]", "wildcards of LIKE"},
			{"O'Brien", "name that needs no attack"},
		}
	case "xss":
		return [][2]string{
			{"<script>alert(1)</script>", "script"},
			{"<img src=\"\" onerror=\"alert(1)\">", "event of an image"},
			{"\"><svg/onload=alert(1)>", "end of an attribute"},
			{"javascript:alert(1)", "link"},
			{"JaVaScRiPt:alert(1)", "link in mixed case"},
			{"<a href=\"data:text/html,<script>alert(1)</script>\">x</a>", "data URL"},
			{"</title><script>alert(1)</script>", "end of the title"},
			{"${alert(1)}", "template of JavaScript"},
			{"{{constructor.constructor('alert(1)')()}}", "template of a framework"},
			{"&lt;script&gt;alert(1)&lt;/script&gt;", "script that is escaped already"},
		}
	case "path_traversal":
		return [][2]string{
			{"../../../../etc/passwd", "parent directories"},
			{"..\\..\\..\\windows\\win.ini", "the same for Windows"},
			{"/etc/passwd", "absolute path"},
			{"....//....//etc/passwd", "what remains after ../ is removed once"},
			{"%2e%2e%2f%2e%2e%2fetc%2fpasswd", "encoded for a URL"},
			{"%252e%252e%252fetc", "encoded twice"},
			{"report.pdf\u0000.png", "NUL before the suffix"},
			{"file:///etc/passwd", "URL of a file"},
			{"\\\\server\\share\\x", "network share"},
			{"CON", "reserved name of Windows"},
			{"~/.ssh/id_rsa", "home directory"},
		}
	case "boundary":
		return [][2]string{
			{"0", "zero"},
			{"-1", "negative"},
			{"-0", "negative zero"},
			{"2147483647", "largest integer of 32 bits"},
			{"2147483648", "one more"},
			{"9007199254740993", "first integer that a double does not hold"},
			{"9223372036854775808", "one more than 64 bits with a sign hold"},
			{"1e309", "more than a double holds"},
			{"5e-324", "smallest double above zero"},
			{"0.1", "fraction that binary numbers do not hold"},
			{"NaN", "not a number"},
			{"Infinity", "infinity"},
			{"2024-02-29", "leap day"},
			{"2016-12-31T23:59:60Z", "leap second"},
			{"2038-01-19T03:14:08Z", "first second after 32 bits"},
			{strings.Repeat("a", 256), "one more than 255 characters"},
		}
	case "unicode":
		return [][2]string{
			{"😀", "character beyond the basic plane"},
			{"👩‍👩‍👧", "characters that are shown as one"},
			{"🇺🇳", "flag of two characters"},
			{"e\u0301", "letter and combining accent"},
			{"Z\u0351\u036b\u0343", "several combining accents"},
			{"ı İ ß ẞ ﬁ", "letters whose case is unusual"},
			{"שלום مرحبا", "right to left"},
			{"abc\u202etxt.exe", "override of the direction"},
			{"a\u200bb", "space of no width"},
			{"\ufeffx", "byte order mark"},
			{"a\u0000b", "NUL"},
			{"раураl", "Cyrillic letters that look like Latin ones"},
			{"漢字かな한글", "East Asian scripts"},
			{"line\u2028separator", "line separator"},
			{"a\r\nb\tc", "control characters"},
			{"\ufffd", "replacement character"},
		}
	case "empty":
		return [][2]string{
			{"", "nothing"},
			{" ", "space"},
			{"\t\r\n", "control characters"},
			{"\u00a0", "space that does not break"},
			{"\u3000", "wide space"},
			{"\u200b", "space of no width"},
			{"null", "word null"},
			{"undefined", "word undefined"},
			{"[]", "empty array"},
			{"{}", "empty object"},
			{"\"\"", "quotes around nothing"},
		}
	}
	return nil
}
