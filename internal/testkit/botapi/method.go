package botapi

import "strings"

// A class says which limits a method counts against.
type class int

const (
	free    class = iota // not limited here
	light                // sendChatAction, drafts, answers to taps
	message              // what puts or changes a message in a chat
)

// A method is one of the API. Its params are the names the documentation has.
type method struct {
	name   string
	class  class
	params string
	run    func(*request) (any, error)
}

const (
	sendParams = " business_connection_id chat_id message_thread_id direct_messages_topic_id disable_notification protect_content" +
		" allow_paid_broadcast message_effect_id suggested_post_parameters reply_parameters reply_markup ephemeral_message_parameters "
	captionParams = " caption parse_mode caption_entities "
	editParams    = " business_connection_id chat_id message_id inline_message_id reply_markup "
)

// methods lists what there is: core.telegram.org/bots/api#available-methods
// has many more, which are answered 404.
func methods() []method {
	return []method{
		{"getMe", free, "", (*request).getMe},
		{"getUpdates", free, "offset limit timeout allowed_updates", (*request).getUpdates},
		{"setWebhook", free, "url certificate ip_address max_connections allowed_updates drop_pending_updates secret_token", (*request).setWebhook},
		{"deleteWebhook", free, "drop_pending_updates", (*request).deleteWebhook},
		{"getWebhookInfo", free, "", (*request).getWebhookInfo},
		{"getFile", free, "file_id", (*request).getFile},
		{"setMyCommands", light, "commands scope language_code", (*request).setMyCommands},
		{"getMyCommands", free, "scope language_code", (*request).getMyCommands},
		{"sendMessage", message, sendParams + "text parse_mode entities link_preview_options", (*request).sendMessage},
		{"editMessageText", message, editParams + "text parse_mode entities link_preview_options", (*request).editMessageText},
		{"deleteMessage", free, "chat_id message_id", (*request).deleteMessage},
		{"answerCallbackQuery", light, "callback_query_id text show_alert url cache_time", (*request).answerCallbackQuery},
		{"sendChatAction", light, "business_connection_id chat_id message_thread_id action", (*request).sendChatAction},
		{"sendMessageDraft", light, "chat_id message_thread_id draft_id text parse_mode entities can_stop keep_on_stop", (*request).sendMessageDraft},
		{"sendPhoto", message, sendParams + captionParams + "photo show_caption_above_media has_spoiler", media("photo")},
		{"sendDocument", message, sendParams + captionParams + "document thumbnail disable_content_type_detection", media("document")},
		{"sendAudio", message, sendParams + captionParams + "audio duration performer title thumbnail", media("audio")},
		{"sendVoice", message, sendParams + captionParams + "voice duration", media("voice")},
		{"sendVideo", message, sendParams + captionParams + "video duration width height thumbnail cover start_timestamp show_caption_above_media has_spoiler supports_streaming", media("video")},
		{"sendAnimation", message, sendParams + captionParams + "animation duration width height thumbnail show_caption_above_media has_spoiler", media("animation")},
		{"sendSticker", message, sendParams + "sticker emoji", media("sticker")},
		{"sendVideoNote", message, sendParams + "video_note duration length thumbnail", media("video_note")},
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
