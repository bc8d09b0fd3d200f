package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// contentBlocks reads "content": an array of blocks in the form of the Messages
// API. Members that are not known are passed on with the block.
func contentBlocks(dec *jsontext.Decoder) ([]json.RawMessage, error) {
	if dec.PeekKind() != '[' {
		if err := skip(dec); err != nil {
			return nil, err
		}
		return nil, badRequest("bad_content", `"content" must be an array of content blocks.`)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, badJSON(err)
	}
	var blocks []json.RawMessage
	for dec.PeekKind() != ']' {
		at := fmt.Sprintf("content[%d]", len(blocks))
		raw, err := value(dec, '{', "bad_content", at+" must be an object.")
		if err != nil {
			return nil, err
		}
		if err := checkBlock(raw, at); err != nil {
			return nil, err
		}
		blocks = append(blocks, json.RawMessage(raw))
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, badJSON(err)
	}
	if len(blocks) == 0 {
		return nil, badRequest("bad_content", `"content" must have at least one block.`)
	}
	return blocks, nil
}

// A block is what is checked of a content block.
type block struct {
	kind, text string
	source     *source
}

type source struct {
	kind, mediaType, url string
	data                 jsontext.Value // the JSON string; nil when absent
}

func checkBlock(raw jsontext.Value, at string) error {
	b, err := readBlock(raw, at)
	if err != nil {
		return err
	}
	switch b.kind {
	case "text":
		return checkTextBlock(b.text, at)
	case "image":
		return checkImage(b.source, at+".source")
	case "document":
		return checkDocument(b.source, at+".source")
	default:
		return badContent(`%s.type must be "text", "image" or "document".`, at)
	}
}

func badContent(format string, args ...any) error { return badRequest("bad_content", format, args...) }

func readBlock(raw jsontext.Value, at string) (b block, err error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	err = members(dec, func(name string) (err error) {
		switch name {
		case "type":
			b.kind, err = str(dec, "bad_content", at+".type")
		case "text":
			b.text, err = str(dec, "bad_content", at+".text")
		case "source":
			b.source, err = readSource(dec, at+".source")
		default:
			err = skip(dec)
		}
		return err
	})
	return b, err
}

func readSource(dec *jsontext.Decoder, at string) (*source, error) {
	if dec.PeekKind() != '{' {
		return nil, badContent("%s must be an object.", at)
	}
	src := &source{}
	err := members(dec, func(name string) (err error) {
		switch name {
		case "type":
			src.kind, err = str(dec, "bad_content", at+".type")
		case "media_type":
			src.mediaType, err = str(dec, "bad_content", at+".media_type")
		case "url":
			src.url, err = str(dec, "bad_content", at+".url")
		case "data":
			src.data, err = value(dec, '"', "bad_content", at+".data must be a string.")
		default:
			err = skip(dec)
		}
		return err
	})
	return src, err
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

// checkImage holds the sources of docs.claude.com/en/api/messages: base64 of
// four formats, or an address.
func checkImage(src *source, at string) error {
	switch {
	case src == nil:
		return badContent("%s is missing.", at)
	case src.kind == "url":
		if !strings.HasPrefix(src.url, "https://") && !strings.HasPrefix(src.url, "http://") || hasControls(src.url) {
			return badContent("%s.url must be an http or https address.", at)
		}
		return nil
	case src.kind != "base64":
		return badContent(`%s.type must be "base64" or "url".`, at)
	}
	switch src.mediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return checkBase64(src.data, at)
	default:
		return badContent("%s.media_type must be image/png, image/jpeg, image/gif or image/webp.", at)
	}
}

func checkDocument(src *source, at string) error {
	switch {
	case src == nil:
		return badContent("%s is missing.", at)
	case src.kind == "base64" && src.mediaType != "application/pdf":
		return badContent("%s.media_type must be application/pdf.", at)
	case src.kind == "base64":
		return checkBase64(src.data, at)
	case src.kind != "text":
		return badContent(`%s.type must be "base64" or "text".`, at)
	case src.mediaType != "text/plain":
		return badContent("%s.media_type must be text/plain.", at)
	}
	text, err := unquoted(src.data)
	if err != nil || strings.TrimSpace(string(text)) == "" || hasNUL(string(text)) {
		return badContent("%s.data must be a text that is not blank, without NUL characters.", at)
	}
	return nil
}

func checkBase64(data jsontext.Value, at string) error {
	text, err := unquoted(data)
	if err != nil || !isBase64(text) {
		return badContent("%s.data must be non-empty base64 (RFC 4648, with padding).", at)
	}
	return nil
}

// unquoted returns what a JSON string says, without a copy where it has no
// escapes.
func unquoted(quoted jsontext.Value) ([]byte, error) {
	if len(quoted) >= 2 && bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], nil
	}
	return jsontext.AppendUnquote(nil, quoted)
}

// isBase64 decodes nothing, so that checking a large image costs no memory.
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
