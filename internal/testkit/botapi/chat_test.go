package botapi_test

import (
	"testing"
	"time"

	"bareclaw/internal/testkit/botapi"
)

func TestWhoCannotBeReached(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	group, super := s.Group(-20, "Group", anna), s.Supergroup(-100300, "Super", anna)
	to := func(id any) fields { return fields{"chat_id": id, "text": "x"} }
	refused(t, s, "sendMessage", fields{"text": "x"}, 400, "Bad Request: chat_id is empty")
	refused(t, s, "sendMessage", to(8), 400, "Bad Request: chat not found") // has not pressed Start
	refused(t, s, "sendMessage", to("@somebody"), 400, "Bad Request: chat not found")

	chat.Block()
	refused(t, s, "sendMessage", to(chat.ID()), 403, "Forbidden: bot was blocked by the user")
	refused(t, s, "sendChatAction", fields{"chat_id": chat.ID(), "action": "typing"}, 403, "Forbidden: bot was blocked by the user")
	chat.Unblock()
	say(t, s, chat.ID(), "again")

	group.Kick(anna)
	refused(t, s, "sendMessage", to(group.ID()), 403, "Forbidden: bot was kicked from the group chat")
	group.Readmit(anna)
	say(t, s, group.ID(), "again")
	super.Kick(anna)
	refused(t, s, "sendMessage", to(super.ID()), 403, "Forbidden: bot was kicked from the supergroup chat")
	refused(t, s, "getChat", fields{"chat_id": super.ID()}, 403, "Forbidden: bot was kicked from the supergroup chat")

	chat.Delete()
	refused(t, s, "sendMessage", to(chat.ID()), 400, "Bad Request: chat not found")
	if len(chat.Messages()) != 0 || len(chat.History()) != 0 {
		t.Error("a deleted chat has messages")
	}
	for i, u := range updates(t, s, nil) {
		if u.Member == nil {
			t.Errorf("update %d is not my_chat_member", i)
		}
	}
	if got := len(s.Pending()); got != 5 {
		t.Errorf("%d updates, want one per change of membership", got)
	}
}

func TestMigration(t *testing.T) {
	t.Parallel()
	s, anna, _ := world(t)
	group := s.Group(-20, "Group", anna)
	group.Send(anna, "before")
	super := group.Migrate(anna, -1000020)
	got := updates(t, s, nil)
	if len(got) != 3 || got[1].Message.Chat.ID != -20 || got[1].Message.MigrateTo != -1000020 ||
		got[2].Message.Chat.ID != -1000020 || got[2].Message.MigrateFrom != -20 || got[2].Message.ID != 1 {
		t.Errorf("updates %+v", got)
	}
	r := refused(t, s, "sendMessage", fields{"chat_id": -20, "text": "x"}, 400, "Bad Request: group chat was upgraded to a supergroup chat")
	if r.Parameters.MigrateTo != -1000020 {
		t.Errorf("parameters %+v", r.Parameters)
	}
	say(t, s, super.ID(), "after")
	super.Send(anna, "and on")
}

func TestTopics(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	forum := s.Forum(-100400, "Forum", anna)
	topic, own := forum.CreateTopic(anna, "Work"), chat.CreateTopic(anna, "Ideas")
	to := func(id int64, thread int) fields {
		return fields{"chat_id": id, "message_thread_id": thread, "text": "x"}
	}
	for _, where := range []struct {
		chat   *botapi.Chat
		thread int
	}{{forum, topic}, {chat, own}} {
		var m sent
		must(t, s, "sendMessage", to(where.chat.ID(), where.thread), &m)
		if seen, _ := where.chat.Message(m.ID); m.Thread != where.thread || seen.Thread != where.thread {
			t.Errorf("sent to thread %d, answered %d, seen in %d", where.thread, m.Thread, seen.Thread)
		}
		refused(t, s, "sendMessage", to(where.chat.ID(), 999), 400, "Bad Request: message thread not found")
		refused(t, s, "sendChatAction", fields{"chat_id": where.chat.ID(), "message_thread_id": 999, "action": "typing"}, 400, "Bad Request: message thread not found")
	}
	say(t, s, forum.ID(), "in General")
	refused(t, s, "sendMessage", to(forum.ID(), 1), 400, "Bad Request: message thread not found")
	in := forum.Send(anna, "hello", botapi.InTopic(topic))
	got := updates(t, s, fields{"offset": -1})
	if got[0].ID != in.UpdateID || got[0].Message.Thread != topic {
		t.Errorf("update %+v", got[0].Message)
	}
	forum.CloseTopic(anna, topic)
	refused(t, s, "sendMessage", to(forum.ID(), topic), 400, "Bad Request: TOPIC_CLOSED")
	forum.ReopenTopic(anna, topic)
	must(t, s, "sendMessage", to(forum.ID(), topic), nil)
	forum.DeleteTopic(topic)
	refused(t, s, "sendMessage", to(forum.ID(), topic), 400, "Bad Request: message thread not found")
}

func TestThreadWithoutTopics(t *testing.T) {
	t.Parallel()
	s, anna, _ := world(t, botapi.Lenient())
	s.Group(-20, "Group", anna)
	var m sent
	must(t, s, "sendMessage", fields{"chat_id": -20, "message_thread_id": 5, "text": "x"}, &m)
	if m.Thread != 0 || len(s.Violations()) != 1 {
		t.Errorf("thread %d, violations %q", m.Thread, s.Violations())
	}
}

func TestMessageIDs(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	group, super := s.Group(-20, "Group", anna), s.Supergroup(-100300, "Super", anna)
	var shared, own []int
	for range 2 {
		shared = append(shared, say(t, s, chat.ID(), "x"), say(t, s, group.ID(), "x"))
		own = append(own, say(t, s, super.ID(), "x"))
	}
	if shared[3] != 4 || own[1] != 2 {
		t.Errorf("ids %v and %v: all but supergroups share one count", shared, own)
	}
}

func TestGetChat(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	s.Forum(-100400, "Forum", anna)
	var got struct {
		Type, Title string
		First       string `json:"first_name"`
		Forum       bool   `json:"is_forum"`
	}
	must(t, s, "getChat", fields{"chat_id": chat.ID()}, &got)
	if got.Type != "private" || got.First != "Anna" {
		t.Errorf("private chat %+v", got)
	}
	must(t, s, "getChat", fields{"chat_id": -100400}, &got)
	if got.Type != "supergroup" || got.Title != "Forum" || !got.Forum {
		t.Errorf("forum %+v", got)
	}
	refused(t, s, "getChat", fields{"chat_id": 99}, 400, "Bad Request: chat not found")
}

func TestActionsAndDrafts(t *testing.T) {
	t.Parallel()
	clock := botapi.NewClock(time.Unix(1_800_000_000, 0))
	s, anna, chat := world(t, botapi.WithClock(clock.Now))
	must(t, s, "sendChatAction", fields{"chat_id": chat.ID(), "action": "typing"}, nil)
	if got := chat.Action(0); got != "typing" {
		t.Errorf("action %q", got)
	}
	clock.Advance(5 * time.Second)
	if got := chat.Action(0); got != "" {
		t.Errorf("action %q after 5 s", got)
	}
	refused(t, s, "sendChatAction", fields{"chat_id": chat.ID(), "action": "sleeping"}, 400, "Bad Request: wrong parameter action in request")

	draft := func(id any, text string) fields {
		return fields{"chat_id": chat.ID(), "draft_id": id, "text": text, "can_stop": true}
	}
	must(t, s, "sendMessageDraft", draft("5", ""), nil) // the library sends a string
	must(t, s, "sendMessageDraft", draft(5, "thinking"), nil)
	if d, ok := chat.Draft(0); !ok || d.Text != "thinking" || d.ID != 5 || !d.CanStop || d.Updates != 2 {
		t.Errorf("draft %+v, %v", d, ok)
	}
	clock.Advance(30 * time.Second)
	if d, ok := chat.Draft(0); ok {
		t.Errorf("draft %+v after 30 s", d)
	}
	must(t, s, "sendMessageDraft", draft(5, "thinking more"), nil)
	say(t, s, chat.ID(), "done")
	if _, ok := chat.Draft(0); ok {
		t.Error("the draft outlives the message")
	}
	refused(t, s, "sendMessageDraft", draft(0, "x"), 400, "Bad Request: RANDOM_ID_INVALID")
	refused(t, s, "sendMessageDraft", draft(5, repeat("x", 4097)), 400, "Bad Request: message is too long")
	s.Group(-20, "Group", anna)
	refused(t, s, "sendMessageDraft", fields{"chat_id": -20, "draft_id": 1, "text": "x"}, 400, "Bad Request: TEXTDRAFT_PEER_INVALID")
}

func TestStopDraft(t *testing.T) {
	t.Parallel()
	s, anna, chat := world(t)
	thread := chat.CreateTopic(anna, "Ideas")
	body := fields{"chat_id": chat.ID(), "message_thread_id": thread, "draft_id": 77, "text": "half", "can_stop": true}
	must(t, s, "sendMessageDraft", body, nil)
	id := chat.StopDraft(thread)
	got := updates(t, s, fields{"offset": id})
	if len(got) != 1 || got[0].Stopped.DraftID != 77 || got[0].Stopped.Thread != thread || got[0].Stopped.Chat.ID != chat.ID() {
		t.Errorf("updates %+v", got)
	}
	must(t, s, "sendMessageDraft", body, nil)
	if _, ok := chat.Draft(thread); ok {
		t.Error("a stopped draft is shown")
	}
	body["draft_id"], body["keep_on_stop"] = 78, true
	must(t, s, "sendMessageDraft", body, nil)
	chat.StopDraft(thread)
	if d, ok := chat.Draft(thread); !ok || d.CanStop {
		t.Errorf("a draft that should stay: %+v, %v", d, ok)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	s, _, _ := world(t)
	set := func(list ...fields) fields { return fields{"commands": list} }
	command := func(name, description string) fields {
		return fields{"command": name, "description": description}
	}
	must(t, s, "setMyCommands", set(command("new", "Start anew"), command("stop", "Stop")), nil)
	var got []struct{ Command string }
	must(t, s, "getMyCommands", fields{"scope": fields{"type": "default"}}, &got)
	if names := s.Commands(); len(got) != 2 || got[1].Command != "stop" || len(names) != 2 || names[0] != "new" {
		t.Errorf("commands %+v, %q", got, names)
	}
	for name, description := range map[string]string{"New": "x", "": "x", repeat("x", 33): "x", "a-b": "x"} {
		refused(t, s, "setMyCommands", set(command(name, description)), 400, "Bad Request: BOT_COMMAND_INVALID")
	}
	refused(t, s, "setMyCommands", set(command("x", "")), 400, "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID")
	refused(t, s, "setMyCommands", set(command("x", repeat("x", 257))), 400, "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID")
	var many []fields
	for range 101 {
		many = append(many, command("x", "y"))
	}
	refused(t, s, "setMyCommands", set(many...), 400, "Bad Request: BOT_COMMANDS_TOO_MUCH")
	must(t, s, "deleteMyCommands", nil, nil)
	if names := s.Commands(); len(names) != 0 {
		t.Errorf("commands %q", names)
	}
}
