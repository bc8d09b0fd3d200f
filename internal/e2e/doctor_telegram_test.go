package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/testkit/botapi"
)

func TestDoctorOfTelegram(t *testing.T) {
	t.Parallel()
	m, api, _, _ := newChat(t)
	g := m.start()
	g.eventually("the bot hears", func() bool { return g.telegramHealth()["ready"] == true })
	d := m.quick()
	d.tells(doctor.Note, "telegram_privacy", "/setprivacy")
	if !d.Healthy {
		t.Errorf("a bot that works: %s", d.raw)
	}
	d.silent("telegram_deaf", "telegram_webhook", "telegram_starting", "telegram_off")
	if strings.Contains(d.raw, api.Token()) {
		t.Error("the token is shown")
	}
	g.kill()

	calls := api.CallCount()
	m.quick("--offline").silent("telegram_privacy")
	if api.CallCount() != calls {
		t.Error("offline it asked Telegram")
	}
	m.set("BARECLAW_TELEGRAM_TOKEN=123456:AAE-another-token_0123456789abcdefghi")
	d = m.quick()
	d.tells(doctor.Problem, "telegram_token", "@BotFather")
	if strings.Contains(d.raw, "another-token") {
		t.Error("the token is shown")
	}
	m.set("BARECLAW_TELEGRAM_TOKEN="+api.Token(), "BARECLAW_TELEGRAM_API=http://127.0.0.1:1")
	d = m.quick()
	d.tells(doctor.Problem, "telegram_unreachable", "127.0.0.1:1")
	if strings.Contains(d.raw, api.Token()) {
		t.Error("the token is shown")
	}
}

func TestDoctorOfABotWithAWebhook(t *testing.T) {
	t.Parallel()
	m, api, _, _ := newChatWith(t, []botapi.Option{botapi.WithoutRates(), botapi.Lenient()})
	resp, err := newClient(t).PostForm(api.URL()+"/bot"+api.Token()+"/setWebhook", url.Values{"url": {"https://bots.example.org/hook/secret"}})
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("setWebhook: %v, %v", resp, err)
	}
	_ = resp.Body.Close()
	d := m.quick()
	d.tells(doctor.Problem, "telegram_webhook", "bots.example.org", "$BARECLAW_TELEGRAM_TOKEN/deleteWebhook")
	if strings.Contains(d.raw, "/hook/secret") {
		t.Error("what is secret of the webhook's address is shown")
	}
}
