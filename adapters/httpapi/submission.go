package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
)

const (
	maxOriginBytes         = 256
	maxIdempotencyKeyBytes = 255
	// keyLifetime is how long an Idempotency-Key of a message is known.
	keyLifetime = 7 * 24 * time.Hour
)

// A messageBody is the body of POST /message with optional channel and mode. Both have
// defaults, and must not be empty.
type messageBody struct {
	api.MessageRequest

	Channel *string `json:"channel"`
	Mode    *string `json:"mode"`
}

func readSubmission(w *response, r *http.Request) (core.Submission, error) {
	in := messageBody{}
	if err := readBody(w, r, &in); err != nil {
		return core.Submission{}, err
	}
	sub, err := in.submission()
	if err == nil {
		err = bindKey(&sub, r)
	}
	return sub, err
}

func (in *messageBody) submission() (core.Submission, error) {
	sub := core.Submission{Channel: api.DefaultChannel, Adapter: adapterName, Mode: core.Collect, Origin: core.Origin(in.Context), CanAsk: in.CanAsk}
	if in.Channel != nil {
		var err error
		if sub.Channel, err = parseKey(*in.Channel); err != nil {
			return sub, err
		}
	}
	if in.Mode != nil {
		sub.Mode = core.Mode(*in.Mode)
	}
	switch sub.Mode {
	case core.Collect, core.Steer, core.Interrupt:
	default:
		return sub, badRequest(api.BadMode, `"mode" must be "collect", "steer" or "interrupt".`)
	}
	for name, text := range map[string]string{"user": in.Context.User, "chat": in.Context.Chat, "topic": in.Context.Topic} {
		if len(text) > maxOriginBytes {
			return sub, badRequest(api.BadContext, `"context.%s" must have at most %d bytes.`, name, maxOriginBytes)
		}
	}
	if in.Content != nil {
		sub.Content.Blocks = in.Content
		return sub, checkBlocks(in.Content)
	}
	sub.Content.Text = in.Text
	return sub, checkText(in.Text)
}

// withInertNames returns the submission with an origin that means nothing to the agent's program.
func (s *shared) withInertNames(sub core.Submission) core.Submission {
	o := &sub.Origin
	o.User, o.Chat, o.Topic = s.Inert(o.User), s.Inert(o.Chat), s.Inert(o.Topic)
	return sub
}

// checkTyped refuses on the Unix socket a text to which the agent's program reacts before the
// agent does, where it then attaches files: permission for a command that sends a text does not
// permit every file.
func (s *shared) checkTyped(w *response, texts ...string) error {
	changes := func(text string) bool { return s.Inert(text) != text }
	if !w.local || !s.FileMentions || !slices.ContainsFunc(texts, changes) {
		return nil
	}
	return notOnSocket("A text with @path, which attaches the file unasked, or with another word that claude acts on is sent over TCP; ＠path attaches nothing")
}

// texts returns all texts of a message that count as typed.
func texts(c *core.Content) []string {
	all := []string{c.Text}
	for _, raw := range c.Blocks {
		var b block
		if err := jsonv2.Unmarshal(raw, &b); err == nil { // checkBlocks has read it
			all = append(all, b.Text)
		}
	}
	return all
}

func encodeSubmission(sub *core.Submission) []byte {
	body, err := marshal(api.MessageRequest{
		Text:    sub.Content.Text,
		Content: sub.Content.Blocks,
		Channel: string(sub.Channel),
		Mode:    string(sub.Mode),
		CanAsk:  sub.CanAsk,
		Context: api.Origin(sub.Origin),
	})
	if err != nil {
		panic(fmt.Sprintf("encode a submission: %v", err)) // blocks that were decoded can be encoded
	}
	return body
}

func checkText(text string) error {
	if strings.TrimSpace(text) == "" {
		return badRequest(api.MissingText, `Missing "text" or "content" field: send a text that is not blank, or content blocks.`)
	}
	if hasNUL(text) {
		return badRequest(api.BadText, `"text" must have no NUL characters.`)
	}
	return nil
}

// hasNUL reports whether a text for the agent has a NUL, which occurs in binary data but
// never in text. All other control characters are kept for the agent, for example the
// colours in a program's output; output for people escapes control characters.
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

// bindKey makes the submission idempotent if the request has a key.
func bindKey(sub *core.Submission, r *http.Request) error {
	key, err := idempotencyKey(r)
	if err != nil || key == "" {
		return err
	}
	sub.SourceKey = "http:" + string(sub.Channel) + "\n" + key
	sub.KeyKept = keyLifetime
	// The hash identifies the content, independent of the form of the JSON.
	texts := []string{string(sub.Channel), string(sub.Mode), sub.Origin.User, sub.Origin.Chat, sub.Origin.Topic, sub.Content.Text}
	sub.SourceHash = digest(texts, sub.Content.Blocks)
	return nil
}

// idempotencyKey returns the key of a request; empty: none.
func idempotencyKey(r *http.Request) (string, error) {
	keys := r.Header[api.HeaderIdempotencyKey]
	if len(keys) == 0 {
		return "", nil
	}
	key := keys[0]
	printable := func(c rune) bool { return c >= ' ' && c <= '~' }
	if len(keys) > 1 || key == "" || len(key) > maxIdempotencyKeyBytes ||
		strings.ContainsFunc(key, func(c rune) bool { return !printable(c) }) {
		return "", badRequest(api.BadIdempotencyKey, "The Idempotency-Key must be one header of 1 to %d printable ASCII characters.", maxIdempotencyKeyBytes)
	}
	return key, nil
}

// digest hashes texts and blocks, each with a length prefix to separate them.
func digest(texts []string, blocks []json.RawMessage) string {
	h := sha256.New()
	part := func(b []byte) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
		h.Write(b)
	}
	for _, s := range texts {
		part([]byte(s))
	}
	for _, block := range blocks {
		part(canonical(block))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func canonical(block json.RawMessage) []byte {
	v := jsontext.Value(block).Clone()
	if err := v.Canonicalize(); err != nil {
		return block // cannot happen: the block was decoded strictly
	}
	return v
}

// A block has the checked members of a content block in the form of the Messages API. All
// other members are passed on to the agent.
type block struct {
	Type   string  `json:"type"`
	Text   string  `json:"text"`
	Source *source `json:"source"`
}

type source struct {
	Type      string         `json:"type"`
	MediaType string         `json:"media_type"`
	URL       string         `json:"url"`
	Data      jsontext.Value `json:"data"` // the JSON string; nil when absent
}

// checkBlocks checks the member content, and makes each block a single line.
func checkBlocks(blocks []json.RawMessage) error {
	if len(blocks) == 0 {
		return badContent(`"content" must have at least one block.`)
	}
	for i := range blocks {
		at := fmt.Sprintf("content[%d]", i)
		raw := jsontext.Value(blocks[i])
		if raw.Kind() != '{' {
			return badContent("%s must be an object.", at)
		}
		if err := raw.Compact(); err != nil {
			return badJSON(err)
		}
		blocks[i] = json.RawMessage(raw)
		if err := checkBlock(raw, at); err != nil {
			return err
		}
	}
	return nil
}

func badContent(format string, args ...any) error {
	return badRequest(api.BadContent, format, args...)
}

func checkBlock(raw jsontext.Value, at string) error {
	var b block
	if err := jsonv2.Unmarshal(raw, &b); err != nil {
		return wrongMember(err, api.BadContent, at+".")
	}
	accepted := sources[b.Type]
	switch {
	case accepted != nil:
		return checkSource(b.Source, accepted, at+".source")
	case b.Type != "text":
		return badContent(`%s.type must be "text", "image" or "document".`, at)
	case strings.TrimSpace(b.Text) == "":
		return badContent("%s.text must be a text that is not blank.", at)
	case hasNUL(b.Text):
		return badContent("%s.text must have no NUL characters.", at)
	}
	return nil
}

// sources are the accepted media types (docs.claude.com/en/api/messages), by the type of the
// block and the type of the source. A source that is an address has no media type.
var sources = map[string]map[string][]string{
	"image":    {"base64": {"image/png", "image/jpeg", "image/gif", "image/webp"}, "url": nil},
	"document": {"base64": {"application/pdf"}, "text": {"text/plain"}},
}

func checkSource(src *source, accepted map[string][]string, at string) error {
	if src == nil {
		return badContent("%s is missing.", at)
	}
	media, known := accepted[src.Type]
	data, isString := unquoted(src.Data)
	switch {
	case !known:
		return badContent(`%s.type must be "%s".`, at, strings.Join(slices.Sorted(maps.Keys(accepted)), `" or "`))
	case media != nil && !slices.Contains(media, src.MediaType):
		last := len(media) - 1
		return badContent("%s.media_type must be %s.", at, strings.TrimPrefix(strings.Join(media[:last], ", ")+" or "+media[last], " or "))
	case src.Type == "url" && (!strings.HasPrefix(src.URL, "https://") && !strings.HasPrefix(src.URL, "http://") || hasControls(src.URL)):
		return badContent("%s.url must be an http or https address.", at)
	case src.Type == "base64" && (!isString || !isBase64(data)):
		return badContent("%s.data must be non-empty base64 (RFC 4648, with padding).", at)
	case src.Type == "text" && (!isString || len(bytes.TrimSpace(data)) == 0 || bytes.IndexByte(data, 0) >= 0):
		return badContent("%s.data must be a text that is not blank, without NUL characters.", at)
	}
	return nil
}

// unquoted returns the text of a JSON string, without a copy where the string has no
// escapes.
func unquoted(quoted jsontext.Value) (text []byte, ok bool) {
	if quoted.Kind() != '"' {
		return nil, false
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], true
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	return text, err == nil
}

// isBase64 checks without decoding, to check a large image without allocating memory.
func isBase64(b []byte) bool {
	if len(b) == 0 || len(b)%4 != 0 {
		return false
	}
	b = bytes.TrimSuffix(bytes.TrimSuffix(b, []byte{'='}), []byte{'='})
	for _, c := range b {
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '+' && c != '/' {
			return false
		}
	}
	return true
}
