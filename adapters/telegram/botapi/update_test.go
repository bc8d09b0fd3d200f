package botapi

import (
	"encoding/json"
	"testing"
)

// TestDecodeKeepsWhatIsPlain holds that something new in a message does not take the
// rest of it away.
func TestDecodeKeepsWhatIsPlain(t *testing.T) {
	t.Parallel()
	for _, broken := range []string{
		`"forward_origin":{"type":"from_mars"}`, `"paid_media":{"paid_media":[{"type":"hologram"}]}`, `"reply_to_message":{"forward_origin":{"type":"x"}}`,
		`"checklist":5`, `"dice":"x"`,
	} {
		u, err := DecodeUpdate(json.RawMessage(`{"update_id":9,"message":{"message_id":5,"chat":{"id":3},"from":{"id":7},"text":"hi",` + broken + `}}`))
		if err != nil || u.ID != 9 || u.Message == nil || u.Message.Text != "hi" || u.Message.ID != 5 || u.Message.Chat.ID != 3 {
			t.Errorf("%s: %+v, %v", broken, u.Message, err)
		}
	}
	for _, hopeless := range []string{`{`, `{"update_id":1,"message":5}`, `{"update_id":1,"callback_query":{"id":5}}`, `{"update_id":1,"message":{"text":5}}`,
		`{"update_id":1,"message":{"message_id":5,"chat":"x","from":{"id":7},"text":"hi"}}`, `{"update_id":1,"message":{"message_id":5,"chat":{"id":3},"from":7,"text":"hi"}}`,
		`{"update_id":1,"message":{"message_id":5,"chat":{"id":3},"from":{"id":7},"sender_chat":7,"text":"hi"}}`,
	} {
		if _, err := DecodeUpdate(json.RawMessage(hopeless)); err == nil {
			t.Errorf("%s is read", hopeless)
		}
	}
}
