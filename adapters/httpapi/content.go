package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	switch b.Type {
	case "text":
		return checkTextBlock(b.Text, at)
	case "image":
		return checkImage(b.Source, at+".source")
	case "document":
		return checkDocument(b.Source, at+".source")
	default:
		return badContent(`%s.type must be "text", "image" or "document".`, at)
	}
}

func checkTextBlock(text, at string) error {
	if strings.TrimSpace(text) == "" {
		return badContent("%s.text must be a text that is not blank.", at)
	}
	if hasNUL(text) {
		return badContent("%s.text must have no NUL characters.", at)
	}
	return nil
}

// checkImage accepts the sources of docs.claude.com/en/api/messages: base64 of
// four formats, or an address.
func checkImage(src *source, at string) error {
	switch {
	case src == nil:
		return badContent("%s is missing.", at)
	case src.Type == "url":
		if !strings.HasPrefix(src.URL, "https://") && !strings.HasPrefix(src.URL, "http://") || hasControls(src.URL) {
			return badContent("%s.url must be an http or https address.", at)
		}
		return nil
	case src.Type != "base64":
		return badContent(`%s.type must be "base64" or "url".`, at)
	}
	switch src.MediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return checkBase64(src.Data, at)
	default:
		return badContent("%s.media_type must be image/png, image/jpeg, image/gif or image/webp.", at)
	}
}

func checkDocument(src *source, at string) error {
	switch {
	case src == nil:
		return badContent("%s is missing.", at)
	case src.Type == "base64" && src.MediaType != "application/pdf":
		return badContent("%s.media_type must be application/pdf.", at)
	case src.Type == "base64":
		return checkBase64(src.Data, at)
	case src.Type != "text":
		return badContent(`%s.type must be "base64" or "text".`, at)
	case src.MediaType != "text/plain":
		return badContent("%s.media_type must be text/plain.", at)
	}
	text, ok := unquoted(src.Data)
	if !ok || strings.TrimSpace(string(text)) == "" || hasNUL(string(text)) {
		return badContent("%s.data must be a text that is not blank, without NUL characters.", at)
	}
	return nil
}

func checkBase64(data jsontext.Value, at string) error {
	text, ok := unquoted(data)
	if !ok || !isBase64(text) {
		return badContent("%s.data must be non-empty base64 (RFC 4648, with padding).", at)
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
