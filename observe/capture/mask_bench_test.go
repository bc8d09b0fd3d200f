package capture

import (
	"strconv"
	"strings"
	"testing"
)

// plainJSON is a body without secrets, as lists of an API are.
func plainJSON() []byte {
	var b strings.Builder
	b.WriteString("[")
	for i := range 200 {
		if i > 0 {
			b.WriteByte(',')
		}
		n := strconv.Itoa(i)
		b.WriteString(`{"id":` + n + `,"userName":"ann` + n + `","email":"ann@example.com","created_at":"2024-01-01T00:00:00Z",` +
			`"description":"A short text of several words, as people write them","active":true,"address":{"city":"Bern","zip":3000},` +
			`"avatarUrl":"https://cdn.example.com/images/` + n + `.png","total_tokens":5,"type":"user","parent":null}`)
	}
	b.WriteString("]")
	return []byte(b.String())
}

// plainText is a text without secrets, as logs are.
func plainText() string {
	line := "2024-01-01T00:00:00Z info server: GET /users/42?page=7&sort=name took 12 ms, status: 200 (cache=hit)\n"
	return strings.Repeat(line, 200)
}

func BenchmarkMaskJSON(b *testing.B) {
	body := plainJSON()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		MaskBody("application/json", body)
	}
}

func BenchmarkMaskText(b *testing.B) {
	text := plainText()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		MaskText(text)
	}
}
