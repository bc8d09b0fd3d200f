package protocol

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/sessionhost/claude"
)

func TestFrameRoundTrip(t *testing.T) {
	t.Parallel()
	for _, f := range []Frame{
		{Type: FrameHello, Version: Version, Generation: 7},
		{Type: FrameTurn, ID: "01a1fed3-8ba0-748b-aa9f-eaaedcfa0b24", Seq: 1<<64 - 1},
		{Type: FrameAnswer, ID: `a "quoted" id,"line":{}`},
		{Type: FrameWrite},
		{Type: FrameAck, Seq: 3},
		{Type: FrameStop, Gently: true},
		{Type: FrameStop, Patient: true},
	} {
		for _, payload := range []string{"", "{}", `{"line":1,"line":2}`, `{"html":"<>&","esc":"\u003c","sp" : 1 }`, strings.Repeat(`[1,2]`, 1)} {
			var p []byte
			if payload != "" {
				p = []byte(payload)
			}
			b, err := EncodeFrame(f, p)
			if err != nil {
				t.Fatalf("encode %+v: %v", f, err)
			}
			if n := bytes.Count(b, []byte("\n")); n != 1 || b[len(b)-1] != '\n' {
				t.Errorf("%q is not one line", b)
			}
			if !json.Valid(b) {
				t.Errorf("%q is not JSON", b)
			}
			got, line, err := DecodeFrame(b[:len(b)-1])
			if err != nil {
				t.Fatalf("decode %q: %v", b, err)
			}
			if got != f || !bytes.Equal(line, p) {
				t.Errorf("%q became %+v with %q, want %+v with %q", b, got, line, f, p)
			}
		}
	}
}

func TestFrameWithLongHeader(t *testing.T) {
	t.Parallel()
	if b, err := EncodeFrame(Frame{Type: FrameAnswer, ID: strings.Repeat("x", maxHeaderBytes)}, []byte("{}")); err == nil {
		t.Errorf("encoded as %d bytes, of which the receiver would not find the payload", len(b))
	}
}

func TestSaidRoundTrip(t *testing.T) {
	t.Parallel()
	for _, s := range []Entry{
		{Seq: 1, Ready: true},
		{Seq: 1<<64 - 1, Bad: "no \"JSON\" \x01 \u2028"},
		{Seq: 9, Exit: &claude.Exit{Status: -1, Signal: "killed", Stderr: "line\nline", Ready: true}},
		{Seq: 10, Exit: &claude.Exit{Error: "exec format error", Timeout: true}},
	} {
		b, err := json.Marshal(s)
		check.OK(t, err)
		got, err := DecodeEntry(b)
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%s became %+v, %v", b, got, err)
		}
	}
	if got, err := DecodeEntry([]byte(`{"seq":7,"event":{"a":1}}`)); err != nil || got.Seq != 7 || got.At != 0 || string(got.Event) != `{"a":1}` {
		t.Errorf("an entry of an older host became %+v, %v", got, err)
	}
	var plain Entry // as older daemons decode what they do not know
	if err := json.Unmarshal(EncodeEvent(7, time.UnixMicro(9), []byte(`{"a":1}`)), &plain); err != nil || plain.Seq != 7 || plain.At != 9 || string(plain.Event) != `{"a":1}` {
		t.Errorf("an entry is no plain JSON: %+v, %v", plain, err)
	}
	for _, event := range []string{"{}", `{"seq":1,"event":{"a":1}}`, `{"type":"x","html":"<b>","deep":{"event":"}"}}`} {
		b := EncodeEvent(42, time.UnixMicro(1_700_000_000_000_007), []byte(event))
		if !json.Valid(b) || b[len(b)-1] != '\n' {
			t.Errorf("%q is not a line of JSON", b)
		}
		got, err := DecodeEntry(b[:len(b)-1])
		if err != nil || got.Seq != 42 || got.At != 1_700_000_000_000_007 || string(got.Event) != event {
			t.Errorf("%q became %+v, %v", b, got, err)
		}
	}
}

// FuzzFrame holds that what is decoded and encoded again is the same: header
// and payload, byte for byte.
func FuzzFrame(f *testing.F) {
	f.Add([]byte(`{"type":"hello","version":1,"generation":3}`))
	f.Add([]byte(`{"type":"turn","id":"a","seq":3,"line":{"type":"user"}}`))
	f.Add([]byte(`{"type":"x","line":}`))
	f.Add([]byte(`,"line":}`))
	f.Add([]byte(`}`))
	f.Add([]byte(``))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, payload, err := DecodeFrame(b)
		if err != nil {
			return
		}
		again, err := EncodeFrame(h, payload)
		if err != nil {
			return // a header too long to be ours
		}
		h2, payload2, err := DecodeFrame(bytes.TrimSuffix(again, []byte("\n")))
		if len(payload) == 0 { // none, or an empty one, which nobody sends
			return
		}
		if err != nil || h2 != h || !bytes.Equal(payload2, payload) {
			t.Errorf("%q became %+v with %q, and that %+v with %q (%v)", b, h, payload, h2, payload2, err)
		}
	})
}

// FuzzSaid holds that an event comes out as the bytes that went in, and that
// nothing else makes the decoder fall over.
func FuzzSaid(f *testing.F) {
	f.Add([]byte(`{"type":"result"}`), uint64(1))
	f.Add([]byte(`{"seq":1,"event":{}}`), uint64(1<<63))
	f.Add([]byte(`{"seq":1,"event":`), uint64(0))
	f.Add([]byte(`}`), uint64(5))
	f.Fuzz(func(t *testing.T, event []byte, seq uint64) {
		_, _ = DecodeEntry(event)
		line := EncodeEvent(seq, time.UnixMicro(int64(seq)), event)
		got, err := DecodeEntry(line[:len(line)-1])
		if err != nil || got.Seq != seq || got.At != int64(seq) || !bytes.Equal(got.Event, event) {
			t.Errorf("event %q with number %d became %+v, %v", event, seq, got, err)
		}
	})
}
