package telegram

import (
	"strconv"
	"strings"

	"bareclaw/core"

	"github.com/go-telegram/bot/models"
)

// A place is where a conversation is held: a chat, or a topic in one.
type place struct {
	chat   int64
	thread int // 0: the chat itself, or a forum's General topic
}

// placeOf returns where a message was sent. A thread of replies is no topic,
// though it has an id as well.
func placeOf(m *models.Message) place {
	p := place{chat: m.Chat.ID}
	if m.IsTopicMessage {
		p.thread = m.MessageThreadID
	}
	return p
}

// key returns the channel of the conversation.
func (p place) key() core.ChannelKey {
	key := Prefix + strconv.FormatInt(p.chat, 10)
	if p.thread != 0 {
		key += "-" + strconv.Itoa(p.thread)
	}
	return core.ChannelKey(key)
}

// group reports whether the chat is one of several people.
func (p place) group() bool { return p.chat < 0 }

// parsePlace returns the conversation that a channel is; false if it is none.
func parsePlace(key core.ChannelKey) (place, bool) {
	rest, ok := strings.CutPrefix(string(key), Prefix)
	if !ok {
		return place{}, false
	}
	var p place
	chat, thread := rest, ""
	if i := strings.LastIndexByte(rest, '-'); i > 0 { // the first may be a minus sign
		chat, thread = rest[:i], rest[i+1:]
	}
	var err error
	if p.chat, err = strconv.ParseInt(chat, 10, 64); err != nil {
		return place{}, false
	}
	if thread != "" {
		if p.thread, err = strconv.Atoi(thread); err != nil {
			return place{}, false
		}
	}
	return p, p.key() == key // only the one way to write it
}
