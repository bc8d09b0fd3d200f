package markdown_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/internal/testkit/botapi"

	"github.com/go-telegram/bot/models"
)

// FuzzAccepted sends whatever is rendered to the Bot API server of the tests: each
// message is taken as it is, with the text and the entities that were meant.
func FuzzAccepted(f *testing.F) {
	for _, s := range []string{
		"# a\n\n## b `c` **d**\n\ntext *it **both** it* ~~s~~ ||sp|| [l](https://a.bc/d) ![i](https://a.bc/e)\n",
		"- a\n  - b\n    1. c\n- [ ] d\n\n> a\n> > b\n> ```go\n>     x := 1\n> ```\n\n---\n| a | b |\n|:-:|--:|\n| 日本 | 👍🏽 |\n",
		"**a *b*** *c*[**d** e `f`](https://g.hi)**[j](https://k.lm) n** \x00\xff\r\u202eb\u2028c a\u030a",
		"[x](javascript:alert(1)) [y](http://localhost:80) [z](tg://user?id=1) <a@b.cd> [](http://a.bc)", "  \n a \n ```\n\n```\n",
	} {
		f.Add(s)
	}
	s, err := botapi.NewServer(botapi.WithoutRates())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.Close)
	s.Private(s.User(7, "Anna", "", ""))
	seen := 0
	f.Fuzz(func(t *testing.T, source string) {
		for _, doc := range []markdown.Document{markdown.Render(source), markdown.RenderPartial(source), markdown.Plain(source), markdown.Diff("a.go", source, source+"x")} {
			for _, chunk := range doc.Split(markdown.MaxUnits) {
				send(t, s, chunk)
			}
		}
		if v := s.Violations(); len(v) > seen {
			seen = len(v)
			t.Errorf("%q was taken, and %s", source, v[seen-1])
		}
	})
}

// send sends a message, which must be taken as it is.
func send(t *testing.T, s *botapi.Server, m markdown.Document) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"chat_id": 7, "text": m.Text, "entities": m.Entities})
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(s.URL()+"/bot"+s.Token()+"/sendMessage", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var got struct {
		OK          bool
		Description string
		Result      struct {
			Text     string
			Entities []models.MessageEntity
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if !got.OK {
		t.Fatalf("%s is refused: %s", body, got.Description)
	}
	if got.Result.Text != m.Text {
		t.Errorf("%q has become %q", m.Text, got.Result.Text)
	}
	same := func(a, b models.MessageEntity) bool {
		return a.Type == b.Type && a.Offset == b.Offset && a.Length == b.Length && a.Language == b.Language && strings.TrimSuffix(a.URL, "/") == strings.TrimSuffix(b.URL, "/")
	}
	if !slices.EqualFunc(got.Result.Entities, m.Entities, same) {
		t.Errorf("of %q the entities %+v have become %+v", m.Text, m.Entities, got.Result.Entities)
	}
}
