package httpapi

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/core"
)

const (
	maxOriginBytes         = 256
	maxIdempotencyKeyBytes = 255
)

// decodeMessage reads the body of POST /message. Members it does not know are
// ignored, so that newer clients can talk to an older gateway.
func decodeMessage(dec *jsontext.Decoder) (core.Submission, error) {
	sub := core.Submission{Channel: defaultChannel, Adapter: adapterName, Mode: core.Collect}
	err := object(dec, func(name string) (err error) {
		switch name {
		case "text":
			sub.Content.Text, err = str(dec, "bad_text", `"text"`)
		case "content":
			sub.Content.Blocks, err = contentBlocks(dec)
		case "channel":
			sub.Channel, err = channelField(dec)
		case "mode":
			sub.Mode, err = modeField(dec)
		case "context":
			sub.Origin, err = contextField(dec)
		case "can_ask":
			sub.CanAsk, err = boolean(dec, "bad_can_ask", `"can_ask"`)
		default:
			err = skip(dec)
		}
		return err
	})
	if err != nil {
		return sub, err
	}
	if sub.Content.Blocks != nil {
		sub.Content.Text = "" // blocks win
		return sub, nil
	}
	return sub, checkText(sub.Content.Text)
}

// appendSubmission writes the body of a POST /message that says the same.
func appendSubmission(b []byte, sub *core.Submission) []byte {
	b = quote(append(b, `{"channel":`...), sub.Channel)
	b = quote(append(b, `,"mode":`...), sub.Mode)
	if sub.Content.Blocks == nil {
		b = quote(append(b, `,"text":`...), sub.Content.Text)
	} else {
		b = append(b, `,"content":[`...)
		for i, block := range sub.Content.Blocks {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, block...)
		}
		b = append(b, ']')
	}
	b = appendContext(append(b, `,"context":`...), &sub.Origin)
	if sub.CanAsk {
		b = append(b, `,"can_ask":true`...)
	}
	return append(b, '}')
}

func appendContext(b []byte, o *core.Origin) []byte {
	b = quote(append(b, `{"user":`...), o.User)
	b = quote(append(b, `,"chat":`...), o.Chat)
	b = quote(append(b, `,"topic":`...), o.Topic)
	return append(b, '}')
}

func checkText(text string) error {
	if strings.TrimSpace(text) == "" {
		return badRequest("missing_text", `Missing "text" or "content" field: send a text that is not blank, or content blocks.`)
	}
	if hasNUL(text) {
		return badRequest("bad_text", `"text" must have no NUL characters.`)
	}
	return nil
}

// hasNUL reports whether a text for the agent has the one control character that none
// may have: NUL is in no text, and a sign of binary data. All others are kept for the
// agent, such as the colours in the output of a program. Whatever shows them to a
// person escapes them.
func hasNUL(s string) bool { return strings.IndexByte(s, 0) >= 0 }

// hasControls reports whether a text for people has C0 controls other than \t, \n and \r.
func hasControls(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			return true
		}
	}
	return false
}

func channelField(dec *jsontext.Decoder) (core.ChannelKey, error) {
	name, err := str(dec, "bad_channel", `"channel"`)
	if err != nil {
		return "", err
	}
	return parseKey(name)
}

func modeField(dec *jsontext.Decoder) (core.Mode, error) {
	name, err := str(dec, "bad_mode", `"mode"`)
	if err != nil {
		return "", err
	}
	switch mode := core.Mode(name); mode {
	case core.Collect, core.Steer, core.Interrupt:
		return mode, nil
	default:
		return "", badRequest("bad_mode", `"mode" must be "collect", "steer" or "interrupt".`)
	}
}

func contextField(dec *jsontext.Decoder) (core.Origin, error) {
	var o core.Origin
	if dec.PeekKind() != '{' {
		if err := skip(dec); err != nil {
			return o, err
		}
		return o, badRequest("bad_context", `"context" must be an object {"user", "chat", "topic"}.`)
	}
	err := members(dec, func(name string) (err error) {
		switch name {
		case "user":
			o.User, err = originField(dec, name)
		case "chat":
			o.Chat, err = originField(dec, name)
		case "topic":
			o.Topic, err = originField(dec, name)
		default:
			err = skip(dec)
		}
		return err
	})
	return o, err
}

func originField(dec *jsontext.Decoder, name string) (string, error) {
	s, err := str(dec, "bad_context", `"context.`+name+`"`)
	if err == nil && len(s) > maxOriginBytes {
		err = badRequest("bad_context", `"context.%s" must have at most %d bytes.`, name, maxOriginBytes)
	}
	return s, err
}

// bindKey makes the submission idempotent if the request asks for it.
func bindKey(sub *core.Submission, r *http.Request) error {
	key, err := idempotencyKey(r)
	if err != nil || key == "" {
		return err
	}
	sub.SourceKey, sub.FormerKey, sub.KeyKept = "http:"+string(sub.Channel)+"\n"+key, "http:"+key, keyKept
	sub.SourceHash = fingerprint(sub)
	return nil
}

// keyKept is how long an Idempotency-Key of a message is known.
const keyKept = 7 * 24 * time.Hour

// idempotencyKey returns the key that a request came under, empty if it has none.
func idempotencyKey(r *http.Request) (string, error) {
	keys := r.Header["Idempotency-Key"]
	if len(keys) == 0 {
		return "", nil
	}
	key := keys[0]
	printable := func(c rune) bool { return c >= ' ' && c <= '~' }
	if len(keys) > 1 || key == "" || len(key) > maxIdempotencyKeyBytes ||
		strings.ContainsFunc(key, func(c rune) bool { return !printable(c) }) {
		return "", badRequest("bad_idempotency_key", "The Idempotency-Key must be one header of 1 to %d printable ASCII characters.", maxIdempotencyKeyBytes)
	}
	return key, nil
}

// fingerprint identifies what a submission says, whatever its JSON looked like.
func fingerprint(sub *core.Submission) string {
	h := sha256.New()
	for _, s := range []string{string(sub.Channel), string(sub.Mode), sub.Origin.User, sub.Origin.Chat, sub.Origin.Topic, sub.Content.Text} {
		hashPart(h, []byte(s))
	}
	for _, block := range sub.Content.Blocks {
		hashPart(h, canonical(block))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// hashPart adds a part with its length, so that parts cannot run together.
func hashPart(h hash.Hash, part []byte) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(part)))
	h.Write(n[:])
	h.Write(part)
}

func canonical(block json.RawMessage) []byte {
	v := jsontext.Value(block).Clone()
	if err := v.Canonicalize(); err != nil {
		return block // cannot happen: the block was decoded strictly
	}
	return v
}
