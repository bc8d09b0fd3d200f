package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func text(s string) *Message {
	return &Message{Channel: "c", Adapter: "http", Content: Content{Text: s}}
}

func blocks(raw ...string) *Message {
	m := text("")
	for _, b := range raw {
		m.Content.Blocks = append(m.Content.Blocks, json.RawMessage(b))
	}
	return m
}

func from(user string, m *Message) *Message {
	m.Origin.User = user
	return m
}

func TestCoalesce(t *testing.T) {
	t.Parallel()
	const image = `{"type":"image","source":{"type":"base64","data":"AA=="}}`
	for _, c := range []struct {
		name string
		in   []*Message
		want string
	}{
		{"one text", []*Message{text("hi")}, `"[channel: c, adapter: http]\nhi"`},
		{"several texts", []*Message{text("a"), text("b\n"), text("c")}, `"[channel: c, adapter: http]\na\n\nb\n\n\nc"`},
		{"command", []*Message{text("/clear")}, `"/clear"`},
		{"no HTML escapes", []*Message{text("<a>&b\u2028")}, `"[channel: c, adapter: http]\n<a>&b` + "\\u2028" + `"`},
		{"full prefix", []*Message{{Channel: "tg-1", Adapter: "telegram", Origin: Origin{User: "Ann", Chat: "Team", Topic: "7"}, Content: Content{Text: "hi"}}},
			`"[channel: tg-1, adapter: telegram, user: Ann, chat: Team, topic: 7]\nhi"`},
		{"several senders", []*Message{from("A", text("1")), from("B", text("2")), from("B", text("3"))},
			`"[channel: c, adapter: http, user: A]\n1\n\n[channel: c, adapter: http, user: B]\n2\n\n[channel: c, adapter: http, user: B]\n3"`},
		{"blocks", []*Message{blocks(image)}, `[{"type":"text","text":"[channel: c, adapter: http]"},` + image + `]`},
		{"blocks and texts", []*Message{text("look"), blocks(image, `{"type":"text","text":"x"}`), text("and?")},
			`[{"type":"text","text":"[channel: c, adapter: http]\nlook"},` + image + `,{"type":"text","text":"x"},{"type":"text","text":"and?"}]`},
		{"blocks of several senders", []*Message{from("A", blocks(image)), from("B", text("nice"))},
			`[{"type":"text","text":"[channel: c, adapter: http, user: A]"},` + image +
				`,{"type":"text","text":"[channel: c, adapter: http, user: B]\nnice"}]`},
	} {
		got, err := Coalesce(c.in)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v\nwant %s", c.name, got, err, c.want)
		}
	}
}

func TestCoalescible(t *testing.T) {
	t.Parallel()
	half := strings.Repeat("x", maxTurnBytes/2)
	huge := blocks(`{"type":"image","data":"` + half + half + `"}`)
	for _, c := range []struct {
		name string
		in   []*Message
		want int
	}{
		{"nothing", nil, 0},
		{"all", []*Message{text("a"), text("b"), text("c")}, 3},
		{"up to a command", []*Message{text("a"), text("b"), text("/c"), text("d")}, 2},
		{"a command", []*Message{text("/a"), text("b")}, 1},
		{"two commands", []*Message{text("/a"), text("/b")}, 1},
		{"just fits", []*Message{text(half), text(half), text("x")}, 2},
		{"a large one", []*Message{huge, text("x")}, 1},
		{"up to a large one", []*Message{text("x"), huge, text("x")}, 1},
	} {
		if got := BatchSize(c.in); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// Names from outside can neither end the bracket or the line, nor begin another
// field, nor turn the direction of what follows.
func FuzzPrefix(f *testing.F) {
	f.Add("c", "http", "user", "chat", "topic")
	f.Add("a]\n[channel: b", "x, adapter: y", "me], user: root", "\u2028\u2029\u0085\r", "\u202e\u2066")
	f.Add("\xff\xfe", "\x00\x1b[31m", "", "，", "\ufeff")
	f.Fuzz(func(t *testing.T, channel, adapter, user, chat, topic string) {
		m := &Message{Channel: ChannelKey(channel), Adapter: adapter, Origin: Origin{User: user, Chat: chat, Topic: topic}}
		got := originPrefix(m)
		inner, ok := strings.CutPrefix(got, "[")
		inner, ok2 := strings.CutSuffix(inner, "]\n")
		if !ok || !ok2 || strings.ContainsAny(inner, "[]\n\r\v\f\u0085\u2028\u2029\u202e\u2066\x00\x1b") || !utf8.ValidString(got) {
			t.Fatalf("prefix %q", got)
		}
		want := []string{"channel", "adapter"}
		for _, f := range []struct{ name, value string }{{"user", user}, {"chat", chat}, {"topic", topic}} {
			if f.value != "" {
				want = append(want, f.name)
			}
		}
		var names []string
		for _, field := range strings.Split(inner, ", ") {
			name, _, _ := strings.Cut(field, ": ")
			names = append(names, name)
		}
		if !slices.Equal(names, want) || strings.Count(inner, ",") != len(want)-1 {
			t.Fatalf("prefix %q has the fields %q, want %q", got, names, want)
		}
	})
}

// A turn is one valid JSON value in which every text is found, in order.
func FuzzCoalesce(f *testing.F) {
	f.Add("hello", "world", "Ann", false)
	f.Add("/clear", "<b>\"\\\x00\u2028", "[x], user: y", true)
	f.Add("", "\xff", "\n", true)
	f.Fuzz(func(t *testing.T, a, b, user string, block bool) {
		second := from(user, text(b))
		if block {
			raw, err := json.Marshal(map[string]string{"type": "text", "text": b})
			if err != nil {
				t.Fatal(err)
			}
			second = from(user, blocks(string(raw)))
		}
		ms := []*Message{text(a), second, text(a + b)}
		if BatchSize(ms) != 3 {
			ms = ms[1:]
		}
		got, err := Coalesce(ms)
		if err != nil || strings.ContainsAny(string(got), "\n\r") {
			t.Fatalf("%q, %v", got, err)
		}
		var joined string
		if json.Unmarshal(got, &joined) != nil {
			var parts []struct{ Type, Text string }
			if err := json.Unmarshal(got, &parts); err != nil || !slices.ContainsFunc(ms, func(m *Message) bool { return m.Content.Blocks != nil }) {
				t.Fatalf("%q: %v", got, err)
			}
			for _, p := range parts {
				joined += p.Text + "\n\n"
			}
		}
		rest := joined
		for _, want := range []string{b, a + b} {
			_, after, ok := strings.Cut(rest, strings.ToValidUTF8(want, "\ufffd"))
			if !ok && utf8.ValidString(want) {
				t.Fatalf("%q is not found in %q", want, joined)
			}
			if ok {
				rest = after
			}
		}
	})
}

func FuzzCheckContent(f *testing.F) {
	f.Add("text", `{"type":"text"}`)
	f.Add("", "null")
	f.Add("", `{} {}`)
	f.Fuzz(func(t *testing.T, s, raw string) {
		c := Content{Text: s}
		if raw != "" {
			c.Blocks = []json.RawMessage{json.RawMessage(raw)}
		}
		if CheckContent(c) != nil {
			return
		}
		m := &Message{Channel: "c", Content: c}
		if got, err := Coalesce([]*Message{m, text("x")}); err == nil && !json.Valid(got) || err != nil && json.Valid([]byte(raw)) {
			t.Errorf("accepted content %q, %q makes the turn %q, %v", s, raw, got, err)
		}
	})
}

func TestPushRegistry(t *testing.T) {
	t.Parallel()
	var r PushRegistry
	if got := r.Prefixes(); got == nil || len(got) != 0 {
		t.Errorf("prefixes = %#v", got)
	}
	var sent []string
	for _, prefix := range []string{"tg-", "tg-group-", "x"} {
		r.Register(prefix, func(_ context.Context, p Push) error {
			sent = append(sent, fmt.Sprint(prefix, " ", p.Channel))
			return nil
		})
	}
	for _, key := range []ChannelKey{"tg-1", "tg-group-1", "x"} {
		if err := r.Send(t.Context(), Push{Channel: key}); err != nil {
			t.Error(err)
		}
	}
	if err := r.Send(t.Context(), Push{Channel: "http"}); !errors.Is(err, ErrNoPusher) {
		t.Errorf("error = %v, want ErrNoPusher", err)
	}
	if want := []string{"tg- tg-1", "tg-group- tg-group-1", "x x"}; !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
	if want := []string{"tg-", "tg-group-", "x"}; !slices.Equal(r.Prefixes(), want) {
		t.Errorf("prefixes = %q, want %q", r.Prefixes(), want)
	}
}
