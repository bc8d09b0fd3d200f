package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bareclaw/core"
)

// promptIn returns the member prompt of a message.
func promptIn(t *testing.T, message any) map[string]any {
	t.Helper()
	m, _ := message.(map[string]any)
	p, ok := m["prompt"].(map[string]any)
	if !ok {
		t.Fatalf("there is no prompt in %v", message)
	}
	return p
}

func TestPromptIsShown(t *testing.T) {
	r := startRig(t, nil)
	long := strings.Repeat("ä", 600)
	body := `{"context":{"user":"Ann"},"content":[{"type":"text","text":"what is this?"},` +
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGVsbG8="}},{"type":"text","text":"` + long + `"}]}`
	answered := r.send("POST", "/message", body).object(t)
	path := "/messages/" + answered["message_id"].(string)
	blocks := []any{
		map[string]any{"type": "text", "bytes": 13.0}, map[string]any{"type": "image", "media_type": "image/png", "bytes": 5.0},
		map[string]any{"type": "text", "bytes": 1200.0},
	}
	short := map[string]any{"user": "Ann", "truncated": true, "blocks": blocks, "text": "what is this?\n\n" + strings.Repeat("ä", 492)}
	whole := map[string]any{"user": "Ann", "blocks": blocks, "text": "what is this?\n\n" + long}
	same(t, promptIn(t, answered), short)
	same(t, promptIn(t, r.send("GET", path, "").object(t)), whole)
	same(t, promptIn(t, r.send("GET", path+"?wait=1s", "").object(t)), whole)
	same(t, promptIn(t, r.send("GET", path+"/trace", "").field(t, "message")), whole)
	list, _ := r.send("GET", "/channels/http/messages", "").field(t, "messages").([]any)
	if len(list) != 1 {
		t.Fatalf("%d messages are listed", len(list))
	}
	same(t, promptIn(t, list[0]), short)
	accepted := r.send("POST", "/message", `{"text":"later"}`, "Prefer", "respond-async").object(t)
	same(t, promptIn(t, accepted), map[string]any{"text": "later"})
}

func TestApprovalHasThePrompt(t *testing.T) {
	r := startRig(t, nil)
	r.asks("Bash", `{"command":"ls"}`)
	all, _ := r.send("GET", "/approvals", "").field(t, "approvals").([]any)
	same(t, promptIn(t, all[0]), map[string]any{"text": `ask Bash {"command":"ls"}`})
	if p := showApproval(&core.Approval{}).Prompt; p.Text != "" || p.Blocks != nil {
		t.Errorf("a prompt that is not known is %v", p)
	}
}

// TestContentIsAsSubmitted sends again what it reads, on both doors.
func TestContentIsAsSubmitted(t *testing.T) {
	r := startRig(t, nil)
	for _, body := range []string{
		`"text":"a\u001b[31m\n\u2028"`,
		`"content":[{"type":"text","text":"x","n":1.50},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aG\/p"}}]`,
	} {
		id, _ := r.send("POST", "/message", `{"channel":"k","context":{"user":"Ann","topic":"T"},`+body+`}`).field(t, "message_id").(string)
		a := r.send("GET", "/messages/"+id+"/content", "")
		r.want(a, http.StatusOK, "")
		if local := r.do(r.local, r.request("GET", "/messages/"+id+"/content", "")); local.body != a.body {
			t.Errorf("the socket shows %s, and TCP %s", local.body, a.body)
		}
		r.want(r.send("POST", "/message", a.body), http.StatusOK, "")
		got := r.accepted(t)
		was, is := got[len(got)-2], got[len(got)-1]
		before, _ := json.Marshal([]any{was.Channel, was.Origin, was.Content})
		if again, _ := json.Marshal([]any{is.Channel, is.Origin, is.Content}); string(again) != string(before) {
			t.Errorf("sent again it is %s, and was %s", again, before)
		}
	}
}

// TestContentReadsAreBounded: whoever comes when as many contents are read as may be
// waits, until one of those is not in memory any more.
func TestContentReadsAreBounded(t *testing.T) {
	r := startRig(t, nil)
	id := r.accept("a", "http")
	path := "/messages/" + id + "/content"
	for range 2 * maxContentReads { // what is read leaves its place
		r.want(r.send("GET", path, ""), http.StatusOK, "")
		r.want(r.send("GET", "/messages/none/content", ""), http.StatusNotFound, "not_found")
	}
	l := &lookups{&shared{Options: r.options(io.Discard), contents: make(chan struct{}, maxContentReads)}}
	for len(l.contents) < maxContentReads-1 { // others read
		l.contents <- struct{}{}
	}
	req := r.request("GET", path, "")
	if _, err := l.content(&response{ResponseWriter: httptest.NewRecorder()}, req, core.MessageID(id)); err != nil || len(l.contents) != maxContentReads-1 {
		t.Errorf("%d places are taken after a reader has left its own, %v", len(l.contents), err)
	}
	l.contents <- struct{}{}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := l.content(nil, r.request("GET", path, "").WithContext(gone), core.MessageID(id)); !errors.Is(err, context.Canceled) {
		t.Errorf("one more has a place: %v", err)
	}
}
