package messagesapi

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// validate returns the refusal the real API would answer with, or nil. It looks at
// what comes from the gateway, not at what is the CLI's own affair.
func (r *request) validate() *apiError {
	if r.Model == "" || len(r.Messages) == 0 {
		return badRequest("model and messages: Field required")
	}
	for i, m := range r.Messages {
		for j, b := range m.Content {
			if err := b.validate(fmt.Sprintf("messages.%d.content.%d", i, j)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b block) validate(at string) *apiError {
	switch {
	case b.Type == "text" && strings.TrimSpace(b.Text) == "":
		return badRequest("%s: text content blocks must contain non-whitespace text", at)
	case b.Type == "image":
		return b.Source.validateImage(at)
	}
	return nil
}

// validateImage knows the media types of
// platform.claude.com/docs/en/build-with-claude/vision.
func (s *source) validateImage(at string) *apiError {
	if s == nil || s.Type != "base64" {
		return badRequest("%s.image.source: want base64", at)
	}
	if !slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, s.MediaType) {
		return badRequest("%s.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'", at)
	}
	if data, err := base64.StdEncoding.DecodeString(s.Data); err != nil || len(data) == 0 {
		return badRequest("%s.image.source.base64: invalid base64 data", at)
	}
	return nil
}
