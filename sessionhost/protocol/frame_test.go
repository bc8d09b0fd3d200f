package protocol

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"bareclaw/internal/testkit/check"
	"bareclaw/sessionhost/claude"
)

// FuzzFrame holds that a frame is one line of JSON and comes out as it went in, header and
// payload, byte for byte, and that nothing else makes the decoder fall over.
func FuzzFrame(f *testing.F) {
	for _, payload := range []string{"", "{}", `{"line":1,"line":2}`, `{"html":"<>&","esc":"\u003c","sp" : 1 }`, `[1,2]`, `{"type":"x","line":}`, `,"line":}`, "}"} {
		f.Add(FrameTurn, `a "quoted" id,"line":{}`, uint64(1<<64-1), true, []byte(payload))
	}
	f.Fuzz(func(t *testing.T, kind, id string, seq uint64, gently bool, payload []byte) {
		_, _, _ = DecodeFrame(payload)
		if len(payload) == 0 {
			payload = nil
		}
		want := Frame{Type: kind, Version: Version, Generation: int64(seq), ID: id, Seq: seq, Gently: gently, Patient: !gently}
		b, err := EncodeFrame(want, payload)
		if err != nil || !utf8.ValidString(kind) || !utf8.ValidString(id) || payload != nil && !json.Valid(payload) || bytes.Contains(payload, []byte("\n")) {
			return // a header too long to be ours, or what nobody sends
		}
		got, line, err := DecodeFrame(bytes.TrimSuffix(b, []byte("\n")))
		if !json.Valid(b) || bytes.Count(b, []byte("\n")) != 1 || err != nil || got != want || !bytes.Equal(line, payload) {
			t.Errorf("%q became %+v with %q (%v), want %+v with %q", b, got, line, err, want, payload)
		}
	})
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
	if err := json.Unmarshal(AppendEvent(nil, 7, time.UnixMicro(9), []byte(`{"a":1}`)), &plain); err != nil || plain.Seq != 7 || plain.At != 9 || string(plain.Event) != `{"a":1}` {
		t.Errorf("an entry is not a plain JSON: %+v, %v", plain, err)
	}
	for _, event := range []string{"{}", `{"seq":1,"event":{"a":1}}`, `{"type":"x","html":"<b>","deep":{"event":"}"}}`} {
		b := AppendEvent(nil, 42, time.UnixMicro(1_700_000_000_000_007), []byte(event))
		if !json.Valid(b) || b[len(b)-1] != '\n' {
			t.Errorf("%q is not a line of JSON", b)
		}
		got, err := DecodeEntry(b[:len(b)-1])
		if err != nil || got.Seq != 42 || got.At != 1_700_000_000_000_007 || string(got.Event) != event {
			t.Errorf("%q became %+v, %v", b, got, err)
		}
	}
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
		line := AppendEvent(nil, seq, time.UnixMicro(int64(seq)), event)
		got, err := DecodeEntry(line[:len(line)-1])
		if err != nil || got.Seq != seq || got.At != int64(seq) || !bytes.Equal(got.Event, event) {
			t.Errorf("event %q with number %d became %+v, %v", event, seq, got, err)
		}
	})
}
