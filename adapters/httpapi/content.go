package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/adapters/httpapi/api"
)

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

// sources are the sources of docs.claude.com/en/api/messages, by the type of the block: their
// media types by the type of the source. An address has none.
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
	case src.Type == "base64" && !(isString && isBase64(data)):
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
