package httpapi

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestTelegramIsShown holds that a bot is in the health and the metrics where there
// is one, and nowhere else.
func TestTelegramIsShown(t *testing.T) {
	t.Parallel()
	none := newRig(t, newFake(t), nil)
	if got := none.send("GET", "/health", "").object(t); got["telegram"] != nil {
		t.Errorf("there is no bot, and it is shown as %v", got["telegram"])
	}
	if body := none.send("GET", "/metrics", "").body; strings.Contains(body, "bareclaw_telegram") {
		t.Errorf("there is no bot, and it is counted:\n%s", body)
	}
	bot := Telegram{Problem: "asleep", Bot: "a_bot", Strangers: 3, Pending: 2, Failed: 1}
	var now atomic.Pointer[Telegram]
	now.Store(&bot)
	r := newRig(t, newFake(t), func(o *Options) {
		h := o.Health()
		o.Health = func() Health { shown := h; shown.Telegram = now.Load(); return shown }
	})
	got, _ := r.send("GET", "/health", "").object(t)["telegram"].(map[string]any)
	if got["ready"] != false || got["problem"] != "asleep" || got["bot"] != "a_bot" || got["strangers"] != 3.0 || got["last_poll"] != nil {
		t.Errorf("got %v", got)
	}
	body := r.send("GET", "/metrics", "").body
	for _, line := range []string{
		"bareclaw_telegram_ready 0", "bareclaw_telegram_strangers_total 3", "bareclaw_telegram_deliveries_pending 2",
		"bareclaw_telegram_deliveries_failed_total 1",
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("no line %q in\n%s", line, body)
		}
	}
	if strings.Contains(body, "last_poll_age") {
		t.Error("the age of a poll is told, and there was none")
	}
	now.Store(&Telegram{Ready: true, LastPoll: time.Now().Add(-time.Minute)})
	if body := r.send("GET", "/metrics", "").body; !strings.Contains(body, "bareclaw_telegram_last_poll_age_seconds 6") {
		t.Errorf("the age of the last poll is not told:\n%s", body)
	}
}
