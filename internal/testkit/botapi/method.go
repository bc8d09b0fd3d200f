package botapi

import (
	"strings"
	"time"
)

// now is the server's clock.
func now() time.Time { return time.Now() }

// A class says which limits a method counts against.
type class int

const (
	free    class = iota // not limited here
	light                // sendChatAction, drafts, answers to taps
	message              // what puts or changes a message in a chat
)

// A method is one of the API.
type method struct {
	name  string
	class class
	run   func(*request) (any, error)
}

// methods lists what there is: core.telegram.org/bots/api#available-methods has many more,
// which are answered 404.
func methods() []method {
	return []method{
		{"getMe", free, (*request).getMe},
		{"getUpdates", free, (*request).getUpdates},
		{"deleteWebhook", free, (*request).deleteWebhook},
		{"getWebhookInfo", free, (*request).getWebhookInfo},
		{"getFile", free, (*request).getFile},
		{"setMyCommands", light, (*request).setMyCommands},
		{"getMyCommands", free, (*request).getMyCommands},
		{"sendMessage", message, (*request).sendMessage},
		{"editMessageText", message, (*request).editMessageText},
		{"deleteMessage", free, (*request).deleteMessage},
		{"answerCallbackQuery", light, (*request).answerCallbackQuery},
		{"sendChatAction", light, (*request).sendChatAction},
		{"sendMessageDraft", light, (*request).sendMessageDraft},
		{"sendPhoto", message, sendMedia("photo")},
		{"sendDocument", message, sendMedia("document")},
		{"sendAudio", message, sendMedia("audio")},
		{"sendVoice", message, sendMedia("voice")},
		{"sendVideo", message, sendMedia("video")},
		{"sendAnimation", message, sendMedia("animation")},
		{"sendSticker", message, sendMedia("sticker")},
		{"sendVideoNote", message, sendMedia("video_note")},
	}
}

// methodNamed finds a method. Telegram does not mind upper and lower case.
func methodNamed(name string) (method, bool) {
	for _, m := range methods() {
		if strings.EqualFold(m.name, name) {
			return m, true
		}
	}
	return method{}, false
}
