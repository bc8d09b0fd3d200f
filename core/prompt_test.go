package core

import (
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func TestPromptOf(t *testing.T) {
	t.Parallel()
	raw := func(blocks ...string) (c Content) {
		for _, b := range blocks {
			c.Blocks = append(c.Blocks, json.RawMessage(b))
		}
		return c
	}
	for name, test := range map[string]struct {
		content Content
		want    Prompt
	}{
		"text": {Content{Text: "hello"}, Prompt{Text: "hello"}},
		"blocks": {raw(`{"type":"text","text":"one"}`,
			`{"source":{"data":"aGVsbG8=","media_type":"image/png","type":"base64"},"type":"image"}`,
			`{"type":"text","text":"two\n"}`,
			`{"type":"document","title":"x","source":{"type":"text","media_type":"text/plain","data":"a\nb"}}`,
			`{"type":"image","source":{"type":"url","url":"https://example.org/a.png"}}`),
			Prompt{Text: "one\n\ntwo\n", Blocks: []Block{
				{Type: "text", Bytes: 3}, {Type: "image", MediaType: "image/png", Bytes: 5}, {Type: "text", Bytes: 4},
				{Type: "document", MediaType: "text/plain", Bytes: 3}, {Type: "image"},
			}}},
		"escaped base64": {raw(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"ab\/9"}}`),
			Prompt{Blocks: []Block{{Type: "image", MediaType: "image/png", Bytes: 3}}}},
		"no such types": {raw(`{"type":7,"text":{},"source":[1,{"data":2}]}`, `[1]`, `{"type":"image","source":{"data":8}`, `{"type":"te`),
			Prompt{Blocks: []Block{{}, {}, {Type: "image"}, {}}}},
	} {
		if got := PromptOf(test.content); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

func TestPromptIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", MaxPromptBytes)
	for name, p := range map[string]Prompt{
		"text":   PromptOf(Content{Text: "x" + long}),
		"blocks": PromptOf(Content{Blocks: []json.RawMessage{json.RawMessage(`{"type":"text","text":"x"}`), json.RawMessage(`{"type":"text","text":"` + long + `"}`)}}),
	} {
		if len(p.Text) > MaxPromptBytes || len(p.Text) < MaxPromptBytes-1 || !p.Truncated || !strings.HasSuffix(p.Text, "ä") {
			t.Errorf("%s: %d bytes, truncated %v, which end with %q", name, len(p.Text), p.Truncated, p.Text[len(p.Text)-2:])
		}
		if s := p.Short(); len(s.Text) > ShortPromptBytes || len(s.Text) < ShortPromptBytes-1 || !s.Truncated || !strings.HasSuffix(s.Text, "ä") {
			t.Errorf("%s, short: %d bytes, truncated %v, which end with %q", name, len(s.Text), s.Truncated, s.Text[len(s.Text)-2:])
		}
	}
	if p := PromptOf(Content{Text: strings.Repeat("x", MaxPromptBytes)}); p.Truncated || len(p.Text) != MaxPromptBytes {
		t.Errorf("%d bytes, truncated %v", len(p.Text), p.Truncated)
	}
	if p := (Prompt{Text: "x", Truncated: true}).Short(); !p.Truncated {
		t.Error("a short prompt is not truncated any more")
	}
	var many Content
	for range MaxPromptBlocks + 1 {
		many.Blocks = append(many.Blocks, json.RawMessage(`{"type":"text","text":"x"}`))
	}
	if p := PromptOf(many); len(p.Blocks) != MaxPromptBlocks || !p.Truncated {
		t.Errorf("%d blocks, truncated %v", len(p.Blocks), p.Truncated)
	}
}

// TestPromptKeepsNoText holds on to as little of a text block as of media: a message that
// waits has its content in memory once.
func TestPromptKeepsNoText(t *testing.T) { // not parallel: it looks at the heap
	const size = 16 << 20
	block := []byte(`{"type":"text","text":"` + strings.Repeat("x", size) + `"}`)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	p := PromptOf(Content{Blocks: []json.RawMessage{block}})
	if kept := int64(heap() - before); kept > size/2 {
		t.Errorf("the prompt of a text block of %d bytes keeps %d bytes", size, kept)
	}
	if len(p.Text) != MaxPromptBytes || !p.Truncated || p.Blocks[0].Bytes != size {
		t.Errorf("%d bytes of text, truncated %v, blocks %v", len(p.Text), p.Truncated, p.Blocks)
	}
	runtime.KeepAlive(block)
}
