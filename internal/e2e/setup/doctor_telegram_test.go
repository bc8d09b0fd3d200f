package setup

import (
	"strings"
	"testing"

	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/e2e/harness"
)

func TestDoctorOfTelegram(t *testing.T) {
	t.Parallel()
	m, api, _, _ := harness.NewChat(t)
	g := m.Start()
	g.Eventually("the bot hears", func() bool { return g.TelegramHealth()["ready"] == true })
	d := m.Quick()
	d.Tells(doctor.Note, "telegram_privacy", "/setprivacy")
	if !d.Healthy {
		t.Errorf("a bot that works: %s", d.Raw)
	}
	d.Silent("gateway_unwell", "telegram_webhook", "telegram_off")
	if strings.Contains(d.Raw, api.Token()) {
		t.Error("the token is shown")
	}
	g.Kill()

	calls := len(api.Calls())
	m.Quick("--offline").Silent("telegram_privacy")
	if len(api.Calls()) != calls {
		t.Error("offline it asked Telegram")
	}
	m.Set("BARECLAW_TELEGRAM_TOKEN=123456:AAE-another-token_0123456789abcdefghi")
	d = m.Quick()
	d.Tells(doctor.Problem, "telegram_token", "@BotFather")
	if strings.Contains(d.Raw, "another-token") {
		t.Error("the token is shown")
	}
	m.Set("BARECLAW_TELEGRAM_TOKEN="+api.Token(), "BARECLAW_TELEGRAM_API=http://127.0.0.1:1")
	d = m.Quick()
	d.Tells(doctor.Problem, "telegram_unreachable", "127.0.0.1:1")
	if strings.Contains(d.Raw, api.Token()) {
		t.Error("the token is shown")
	}
}

func TestDoctorOfABotWithAWebhook(t *testing.T) {
	t.Parallel()
	m, api, _, _ := harness.NewChat(t)
	api.SetWebhook("https://bots.example.org/hook/secret")
	d := m.Quick()
	d.Tells(doctor.Problem, "telegram_webhook", "bots.example.org", "$BARECLAW_TELEGRAM_TOKEN/deleteWebhook")
	if strings.Contains(d.Raw, "/hook/secret") {
		t.Error("what is secret of the webhook's address is shown")
	}
}
