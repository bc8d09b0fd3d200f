package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"bareclaw/adapters/telegram/botapi"
)

// TestUnreadableUpdates holds that an update that cannot be read keeps nothing from
// coming after it, and that what cannot be acknowledged is not asked for again at once.
func TestUnreadableUpdates(t *testing.T) {
	t.Parallel()
	a := recording(t)
	good := json.RawMessage(`{"update_id":12,"message":{"message_id":1,"from":{"id":7},"chat":{"id":7},"text":"hi"}}`)
	for _, broken := range []string{`{"update_id":12,"message":{"from":{"id":"7"},"chat":{"id":7}}}`, `{"update_id":12,"message":5}`,
		`{"update_id":12,"message":{"from":{"id":7},"sender_chat":[],"chat":{"id":7}}}`} {
		if a.hears(botapi.Peek(json.RawMessage(broken))) {
			t.Errorf("%s is heard", broken)
		}
		next, err := a.receive(t.Context(), []json.RawMessage{json.RawMessage(broken)}, 5)
		if next != 13 || err != nil {
			t.Errorf("after %s comes %d, %v", broken, next, err)
		}
	}
	for _, nameless := range []string{`5`, `null`, `{"message":{}}`, `{"update_id":"12"}`} {
		next, err := a.receive(t.Context(), []json.RawMessage{json.RawMessage(nameless)}, 5)
		if next != 5 || !errors.Is(err, errNoIDs) {
			t.Errorf("after %s comes %d, %v", nameless, next, err)
		}
		if next, err = a.receive(t.Context(), []json.RawMessage{json.RawMessage(nameless), good}, 5); next != 13 || err != nil {
			t.Errorf("after %s and a good one comes %d, %v", nameless, next, err)
		}
	}
	if in, err := a.o.Core.LastInbound(context.WithoutCancel(t.Context()), Name); err != nil || in.ID != sourceKey(a.botID, 12) {
		t.Errorf("recorded: %+v, %v", in, err)
	}
}

// TestTelegramCountsAnew holds that what comes under a smaller number than before is
// received, and acknowledged: https://core.telegram.org/bots/api#update
func TestTelegramCountsAnew(t *testing.T) {
	t.Parallel()
	a := recording(t)
	for _, id := range []int64{9000, 17} {
		update := fmt.Sprintf(`{"update_id":%d,"message":{"message_id":1,"from":{"id":8},"chat":{"id":8},"text":"hi"}}`, id)
		if next, err := a.receive(t.Context(), []json.RawMessage{json.RawMessage(update)}, 9000); next != id+1 || err != nil {
			t.Errorf("after %d comes %d, %v", id, next, err)
		}
	}
}
