package chats

import "testing"

func TestCommandsOfOtherBots(t *testing.T) {
	t.Parallel()
	for text, other := range map[string]bool{
		"/start@their_bot": true, "/start@their_bot x": true, "/start@our_bot": false, "/start": false, "/etc/x@robot": false, "hi @their_bot": false,
	} {
		if ForOtherBot(text, "our_bot") != other {
			t.Errorf("%q: for another bot is %v", text, !other)
		}
	}
}
