package botapi_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/internal/testkit/botapi"
)

// TestTypes has the TypeScript compiler check answers of every kind against
// other people's description of the Bot API.
func TestTypes(t *testing.T) {
	t.Parallel()
	modules := grammy(t)
	s, _, _ := world(t)
	talk(t, s)
	source := typescript(t, s, filepath.Join(modules, "@grammyjs", "types"))
	dir := t.TempDir()
	file := filepath.Join(dir, "answers.ts")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(modules, "typescript", "bin", "tsc"),
		"--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler", file)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s\nin\n%s", err, out, source)
	}
}

// talk brings about answers and updates of every kind.
func talk(t *testing.T, s *botapi.Server) {
	t.Helper()
	anna := s.User(7, "Anna", "Arden", "anna")
	chat, group, forum := s.Private(anna), s.Group(-20, "Group", anna), s.Forum(-100400, "Forum", anna)
	must(t, s, "getUpdates", fields{"allowed_updates": []string{"message", "edited_message", "callback_query", "message_reaction", "my_chat_member", "stopped_message_generation"}}, nil)
	topic := forum.CreateTopic(anna, "Work")
	data := []byte("x")
	hello := chat.Send(anna, "/start hello")
	chat.Edit(anna, hello.MessageID, "hello again")
	chat.React(anna, hello.MessageID, "👍")
	for _, m := range []botapi.Media{
		botapi.Photo(data), botapi.Document("a.txt", "text/plain", data), botapi.Voice(data, 3), botapi.Audio("a.mp3", data, 3),
		botapi.Video("a.mp4", data, 3), botapi.VideoNote(data, 3), botapi.Animation("a.mp4", data), botapi.Sticker("👍", data),
		botapi.Contact("+1", "Bo", "Berg"), botapi.Location(1, 2), botapi.Venue("Café", "Street 1", 1, 2),
	} {
		chat.Send(anna, "", botapi.WithMedia(m))
	}
	chat.Send(anna, "a reply", botapi.ReplyingTo(hello.MessageID), botapi.Quoting("hello"))
	chat.Send(anna, "a reply elsewhere", botapi.ReplyingElsewhere(anna, "what"))
	chat.Send(anna, "forwarded", botapi.ForwardedFrom(anna))
	chat.Send(anna, "forwarded", botapi.ForwardedFromHidden("Someone"))
	chat.Send(anna, "forwarded", botapi.ForwardedFromChannel(-100999, "News", 5))
	forum.Send(anna, "in a topic", botapi.InTopic(topic))
	forum.CloseTopic(anna, topic)
	forum.ReopenTopic(anna, topic)

	var m sent
	link := fields{"type": "text_link", "offset": 0, "length": 1, "url": "https://example.org"}
	must(t, s, "sendMessage", fields{"chat_id": 7, "text": "hi", "entities": []fields{link}, "reply_markup": keyboard([]fields{button("Stop", "s")})}, &m)
	chat.Tap(anna, m.ID, "Stop")
	must(t, s, "editMessageText", fields{"chat_id": 7, "message_id": m.ID, "text": "ho"}, nil)
	must(t, s, "sendMessage", fields{"chat_id": -100400, "message_thread_id": topic, "text": "hi"}, nil)
	must(t, s, "sendMessageDraft", fields{"chat_id": 7, "draft_id": 3, "text": "…", "can_stop": true}, nil)
	chat.StopDraft(0)
	must(t, s, "sendChatAction", fields{"chat_id": 7, "action": "typing"}, nil)
	must(t, s, "setMyCommands", fields{"commands": []fields{{"command": "new", "description": "Start anew"}}}, nil)
	for _, method := range []string{"getMe", "getMyCommands", "getWebhookInfo"} {
		must(t, s, method, nil, nil)
	}
	for _, id := range []int64{7, -20, -100400} {
		must(t, s, "getChat", fields{"chat_id": id}, nil)
	}
	kinds := map[string]string{"sendPhoto": "photo", "sendDocument": "document", "sendAudio": "audio", "sendVoice": "voice", "sendVideo": "video", "sendAnimation": "animation", "sendSticker": "sticker", "sendVideoNote": "video_note"}
	for method, field := range kinds {
		r := upload(t, s, method, map[string]string{"chat_id": "7"}, field, "a.mp3", picture(t, 10, 10))
		if !r.OK {
			t.Errorf("%s: %s", method, r.Description)
		}
	}
	super := group.Migrate(anna, -1000020)
	super.Kick(anna)
	chat.Block()
	for _, body := range []fields{{"chat_id": 7, "text": "x"}, {"chat_id": -20, "text": "x"}, {"chat_id": 99, "text": "x"}} {
		call(t, s, "sendMessage", body)
	}
	must(t, s, "getUpdates", nil, nil)
}

// typescript is a program that is right if the answers are.
func typescript(t *testing.T, s *botapi.Server, types string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "import type { ApiError, ApiMethods, Update } from %q;\ntype Answer<M extends keyof ApiMethods<never>> = ReturnType<ApiMethods<never>[M]>;\n", types)
	// That the check finds what is wrong is checked too.
	b.WriteString("// @ts-expect-error\nconst wrong: Update = {\"update_id\":1,\"message\":{\"message_id\":\"one\"}};\n")
	checked := map[string]int{}
	for i, c := range s.Calls() {
		var r reply
		if err := json.Unmarshal(c.Response, &r); err != nil {
			t.Fatal(err)
		}
		checked[c.Method]++
		switch {
		case !r.OK:
			fmt.Fprintf(&b, "const c%d: ApiError = %s;\n", i, c.Response)
			continue
		case c.Method != "getUpdates":
			fmt.Fprintf(&b, "const c%d: Answer<%q> = %s;\n", i, c.Method, r.Result)
			continue
		}
		var list []json.RawMessage
		decode(t, r.Result, &list)
		for n, u := range list {
			checked["update"]++
			// The types want the field that the inner message of a reply never has.
			text := strings.ReplaceAll(string(u), `"reply_to_message":{`, `"reply_to_message":{"reply_to_message":undefined,`)
			fmt.Fprintf(&b, "const c%d_%d: Update = %s;\n", i, n, text)
		}
	}
	if checked["update"] < 25 || len(checked) < 19 {
		t.Errorf("only %d updates and %d methods were checked", checked["update"], len(checked))
	}
	return b.String()
}
