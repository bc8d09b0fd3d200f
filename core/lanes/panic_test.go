package lanes

import "testing"

// TestPanic: a panic in a lane fails the messages of its channel. The channel can be used again, and other channels and
// the process notice nothing.
func TestPanic(t *testing.T) {
	const works = `; works; answer other ok; other answered ok; log "panic in a lane"; log channel.go; log "a fault in `
	const fails = ` failed internal_error "A fault in the gateway ended this message."`
	scenarios(t, map[string]string{
		"compose or hand": `
			send other in=d; send one two; begin one; panic {compose|hand}; finish one ok; one answered ok
			wait 1m; two` + fails + works + `{compose|hand}"`,
		"fate":              `send other in=d; send one two; begin one; panic fate; die; wait 1m; one` + fails + `; two` + fails + works + `fate"`,
		"start":             `send other in=d; panic start; send one; wait 1m; one` + fails + works + `start"`,
		"before acceptance": `panic compose; send one; one refused internal; works`,
	})
}
