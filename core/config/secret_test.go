package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

func TestSecretIsNeverShown(t *testing.T) {
	t.Parallel()
	secret := HTTPToken{NewSecret("sesame")}
	type holder struct{ inner struct{ config Config } }
	var h holder
	h.inner.config.HTTP.Token = secret
	outputs := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t"} {
		outputs[verb] = fmt.Sprintf(verb, secret)
		outputs["config "+verb] = fmt.Sprintf(verb, Config{HTTP: HTTP{Token: secret}})
		outputs["unexported "+verb] = fmt.Sprintf(verb, h)
	}
	data, err := json.Marshal(Config{HTTP: HTTP{Token: secret}})
	check.OK(t, err)
	outputs["json"] = string(data)
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"slog text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"slog json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var buf bytes.Buffer
		slog.New(handler(&buf)).Info("m", "secret", secret, "config", Config{HTTP: HTTP{Token: secret}})
		outputs[name] = buf.String()
	}
	for name, out := range outputs {
		if strings.Contains(out, "sesame") || strings.Contains(out, fmt.Sprintf("%x", "sesame")) {
			t.Errorf("%s shows it: %s", name, out)
		}
		if !strings.HasPrefix(name, "unexported") && !strings.Contains(out, redacted) {
			t.Errorf("%s does not say that there is one: %s", name, out)
		}
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	if s := NewSecret("sesame"); !s.IsSet() || s.Reveal() != "sesame" {
		t.Errorf("Reveal = %q, set %t", s.Reveal(), s.IsSet())
	}
	for _, s := range []Secret{{}, NewSecret("")} {
		if s.IsSet() || s.Reveal() != "" || s.String() != "" {
			t.Errorf("unset: Reveal = %q, String = %q, set %t", s.Reveal(), s, s.IsSet())
		}
	}
}
