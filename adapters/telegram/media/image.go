package media

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif"  // for DecodeConfig
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"io"
	"net/http"
	"os"
	"slices"
)

const (
	// maxImageBytes is the maximum size of an image for Claude: 5 MB of base64,
	// https://docs.claude.com/en/docs/build-with-claude/vision
	maxImageBytes = 5 << 20 / 4 * 3
	// MaxImagesBytes limits the images of a message: an API request may have 32 MB.
	MaxImagesBytes = 4 * maxImageBytes
	// maxImageSide is the maximum width and height, in pixels.
	maxImageSide = 8000
)

var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// ShowImage returns the content block with an image for Claude, or the reason for
// leaving the image out. left is the number of bytes available for images. An image
// refused by the API must never enter a conversation, because the API would refuse every
// later turn.
func ShowImage(path string, left int64) (block json.RawMessage, why string) {
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
		return nil, "it is too large"
	}
	kind := http.DetectContentType(data)
	if !slices.Contains(imageTypes, kind) {
		return nil, "it is not a JPEG, PNG, GIF or WebP image"
	}
	if c, _, err := image.DecodeConfig(bytes.NewReader(data)); kind != "image/webp" {
		if err != nil {
			return nil, "it is damaged"
		}
		if c.Width > maxImageSide || c.Height > maxImageSide {
			return nil, "it has too many pixels"
		}
	}
	data64 := base64.StdEncoding.EncodeToString(data)
	return fmt.Appendf(nil, `{"type":"image","source":{"type":"base64","media_type":"%s","data":"%s"}}`, kind, data64), ""
}
