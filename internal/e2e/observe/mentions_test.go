package observe

import (
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

// isCode reports whether the n-th occurrence of a text in a message is code, in which a chat finds nothing to act on.
func isCode(m botapi.Message, text string) bool {
	at := 0
	for rest := m.Text; ; {
		before, after, found := strings.Cut(rest, text)
		if !found {
			return true
		}
		at += len(utf16.Encode([]rune(before)))
		inCode := false
		for _, e := range m.Entities {
			inCode = inCode || e.Type == "code" && e.Offset <= at && at < e.Offset+e.Length
		}
		if !inCode {
			return false
		}
		at += len(utf16.Encode([]rune(text)))
		rest = after
	}
}

// TestWordsThatChatsActOn: a chat makes links of names, addresses and commands wherever they stand but in code. What an app says
// links to nobody and calls nobody.
func TestWordsThatChatsActOn(t *testing.T) {
	t.Parallel()
	p := harness.NewPushTest(t, appVariable+"=plain", faultyVariable+"="+os.DevNull)
	f := &faulty{&machine{p.Machine}}
	t.Cleanup(f.end)
	f.mark()
	f.Invoke(nil, append([]string{"observe", "--channel", "tg-7", "--", "sh", "-c", loop}, faultyCommand()...)...)
	r := f.answers(0)
	f.showsHostile(r.Proxy, r.Port, "ask @admin_bot at https://evil.example/x or /stop it")
	told := p.Chat.AwaitMessage("the problems", about("problems in work"))
	for _, word := range []string{"@admin_bot", "https://evil.example", "/stop"} {
		if !strings.Contains(told.Text, word) || !isCode(told, word) {
			t.Errorf("%s acts in %q, of which this is formatted: %+v", word, told.Text, told.Entities)
		}
	}
}

// TestChannelOfNobody: who observes an app learns at once that nobody is behind the channel, and which channels there are. The
// app is observed all the same.
func TestChannelOfNobody(t *testing.T) {
	t.Parallel()
	p := harness.NewPushTest(t, appVariable+"=plain", faultyVariable+"="+os.DevNull)
	f := &faulty{&machine{p.Machine}}
	t.Cleanup(f.end)
	f.mark()
	o := f.Invoke(nil, append([]string{"observe", "--channel", "desk", "--", "sh", "-c", loop}, faultyCommand()...)...)
	f.isServed(f.answers(0))
	f.said(o, "Nobody is behind the channel desk, and so nobody is told what is found. Name a channel that begins with tg-, with --channel")
}
