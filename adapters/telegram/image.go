package telegram

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	_ "image/gif"  // its sizes are read
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"io"
	"net/http"
	"os"
	"slices"
)

const (
	// maxImageBytes is what an image may have that the agent is shown: 5 MB of base64,
	// https://docs.claude.com/en/docs/build-with-claude/vision
	maxImageBytes = 5 << 20 / 4 * 3
	// maxImagesBytes bounds those of one message: a request may have 32 MB.
	maxImagesBytes = 4 * maxImageBytes
	// maxImageSide is the most pixels in a row or column.
	maxImageSide = 8000
)

// imageTypes are the kinds of images that the agent can be shown.
var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// showImage returns the content block that shows a file to the agent; nil with the
// reason if it cannot be shown. What is no image for the agent's provider must not
// get into a conversation, where it would be refused again with each turn.
func showImage(path string, left int64) (block json.RawMessage, why string) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "it cannot be read"
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxImageBytes+1))
	if err != nil {
		return nil, "it cannot be read"
	}
	if len(data) > maxImageBytes || int64(len(data)) > left {
		return nil, "it is too large to be shown"
	}
	kind := http.DetectContentType(data)
	if !slices.Contains(imageTypes, kind) {
		return nil, "it is no JPEG, PNG, GIF or WebP"
	}
	if c, _, err := image.DecodeConfig(bytes.NewReader(data)); kind != "image/webp" {
		if err != nil {
			return nil, "it is damaged"
		}
		if c.Width > maxImageSide || c.Height > maxImageSide {
			return nil, "it has too many pixels to be shown"
		}
	}
	type source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	}
	block, err = json.Marshal(struct {
		Type   string `json:"type"`
		Source source `json:"source"`
	}{"image", source{"base64", kind, base64.StdEncoding.EncodeToString(data)}})
	if err != nil {
		return nil, "it cannot be shown"
	}
	return block, ""
}
