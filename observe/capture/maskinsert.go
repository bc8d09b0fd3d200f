package capture

import (
	"bytes"
	"strings"
)

// inserts begin statements that name columns apart from their values.
var inserts = []string{"INSERT INTO ", "insert into ", "Insert Into ", "REPLACE INTO ", "replace into "}

func hasInsert(text []byte) bool {
	const shortest = len("insert into a(pw)values(1)")
	if len(text) < shortest {
		return false
	}
	for _, insert := range inserts {
		if bytes.Contains(text, []byte(insert)) {
			return true
		}
	}
	return false
}

// maskInserts masks the statements of SQL in a text whose values have no names beside them. From the first one on that names
// a secret the whole text is read as SQL, so that the parameters that are printed behind it are masked too.
func maskInserts(text string) string {
	first := len(text)
	for _, insert := range inserts {
		if at := strings.Index(text[:first], insert); at >= 0 {
			first = at
		}
	}
	if first == len(text) || !namesSecret(text[first:]) {
		return text
	}
	return text[:first] + maskStatement(text[first:])
}

// maskStatement masks a statement, and wholly the list of parameters that some print behind it as a comment.
func maskStatement(text string) string {
	for _, begin := range []string{" -- PARAMETERS: ", " -- params: "} {
		if at := strings.Index(text, begin); at >= 0 {
			at += len(begin)
			return MaskQuery(text[:at]) + maskValue(text[at:])
		}
	}
	return MaskQuery(text)
}
