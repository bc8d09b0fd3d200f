package telegram

import (
	"encoding/json"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

// forwardedFrom makes a message one that is passed on.
func forwardedFrom(name string) botapi.SendOption {
	return botapi.WithMembers(json.RawMessage(`{"forward_origin":{"type":"hidden_user","date":1,"sender_user_name":"` + name + `"}}`))
}

// TestTelegramTogether answers once what one person sends at once: a comment and what is forwarded
// with it.
func TestTelegramTogether(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		send func(c *talk)
		want []string // in the order in which Claude reads it
	}{
		"a comment and a text": {func(c *talk) {
			c.send("What do you think of this?")
			c.send("We should move the release to Friday.", forwardedFrom("Carla"))
		}, []string{"What do you think of this?", "Forwarded from Carla:", "to Friday."}},
		"a comment and an album": {func(c *talk) {
			c.send("which is nicer?")
			for _, file := range []string{"A.png", "B.png"} {
				c.send("", forwardedFrom("Dee"), botapi.InAlbum("g"), botapi.WithMedia(botapi.Document(file, "image/png", harness.SomePicture(t))))
			}
		}, []string{"which is nicer?", "Forwarded from Dee:", "A.png", "B.png"}},
		"a comment and a file": {func(c *talk) {
			c.send("and this?")
			c.send("", forwardedFrom("Dee"), botapi.WithMedia(botapi.Document("plan.pdf", "application/pdf", []byte("x"))))
		}, []string{"and this?", "Forwarded from Dee:", "plan.pdf"}},
		"forwards": {func(c *talk) {
			for _, from := range []string{"Ann", "Ben", "Cid"} {
				c.send(from+" says so.", forwardedFrom(from))
			}
		}, []string{"Forwarded from Ann:", "Ann says so.", "Forwarded from Ben:", "Ben says so.", "Forwarded from Cid:", "Cid says so."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newQuickTalk(t)
			row.send(c)
			answer := c.says(row.want[0])
			rest := answer.Text
			for _, want := range row.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Errorf("Claude reads %q, want %q in it", answer.Text, row.want)
				}
				rest = after
			}
			c.ends(1)
			if n := c.Balanced(); n != 1 {
				t.Errorf("%d messages were accepted, want 1", n)
			}
		})
	}
}
