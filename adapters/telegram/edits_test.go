package telegram

import (
	"encoding/json"
	"testing"

	"bareclaw/core"
)

func TestEditedCaptionOfAnAlbum(t *testing.T) {
	t.Parallel()
	blocks := core.Content{Blocks: []json.RawMessage{json.RawMessage(`{"type":"image"}`), json.RawMessage(`{"type":"text","text":"one\n\n(saved to A)"}`)}}
	if got := recaption(blocks, "one", "two"); string(got.Blocks[1]) != `{"type":"text","text":"two\n\n(saved to A)"}` || string(got.Blocks[0]) != `{"type":"image"}` {
		t.Errorf("got %s", got.Blocks)
	}
	if string(blocks.Blocks[1]) != `{"type":"text","text":"one\n\n(saved to A)"}` {
		t.Error("the content that was edited is another one now")
	}
	if got := recaption(core.Content{Text: "File"}, "", "new"); got.Text != "new\nFile" {
		t.Errorf("got %q", got.Text)
	}
	if got := recaption(core.Content{Text: "old\nFile"}, "old", ""); got.Text != "File" {
		t.Errorf("got %q", got.Text)
	}
}
