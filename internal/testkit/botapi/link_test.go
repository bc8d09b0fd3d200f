package botapi_test

import "testing"

func TestLinks(t *testing.T) {
	t.Parallel()
	s, _, chat := world(t)
	body := func(url string) fields {
		link := entity("text_link", 0, 1)
		link["url"] = url
		return fields{"chat_id": chat.ID(), "text": "x", "entities": []fields{link}}
	}
	for _, url := range []string{
		"https://example.org/100%?q=a b#c", "example.org", "http://user:pass@example.org:8080/x", "http://127.0.0.1:3000", "http://[::1]:80/",
		"https://bücher.example/ü", "mailto:a@example.org", "tg://user?id=7", "tg:resolve?domain=x", "HTTPS://EXAMPLE.ORG",
	} {
		if r := call(t, s, "sendMessage", body(url)); !r.OK {
			t.Errorf("%s: %s", url, r.Description)
		}
	}
	for url, why := range map[string]string{
		"http://localhost:3000": "Wrong HTTP URL", "file:///etc/passwd": "Unsupported URL protocol", "src/main.go": "Wrong HTTP URL", "": "URL host is empty",
		"#anchor": "URL host is empty", "http://a b.org": "Disallowed character in URL host", "http://a\"@b.org": "Disallowed character in URL userinfo",
		"javascript:alert(1)": "Wrong port number specified in the URL", "http://[::x]": "Wrong IPv6 address specified in the URL", "http://./": "Host is invalid",
	} {
		refused(t, s, "sendMessage", body(url), 400, "Bad Request: entity URL '"+url+"' is invalid: "+why)
	}
}
