package botapi_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"unicode/utf16"

	"bareclaw/internal/testkit/botapi"
)

// FuzzSendMessage sends anything. It is answered, and what is accepted has
// entities inside of its text.
func FuzzSendMessage(f *testing.F) {
	for _, seed := range [][4]string{
		{"hello", "", "", ""},
		{" a😀b \r\n", `[{"type":"bold","offset":1,"length":3}]`, "", `{"inline_keyboard":[[{"text":"x","callback_data":"y"}]]}`},
		{"<b>a <i>b</i></b> &amp; <a href='x.org'>c</a>", "", "HTML", ""},
		{"*b* ```go\nx``` [a](x.org) >q\n||s||", "", "MarkdownV2", "{"},
		{"x", `[{"type":"text_link","offset":0,"length":1,"url":"http://[::"},{"type":"pre","offset":0,"length":1}]`, "", "[]"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	s, err := botapi.NewServer(botapi.WithoutRates(), botapi.AllowParseMode())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.Close)
	s.Private(s.User(7, "Anna", "", ""))
	f.Fuzz(func(t *testing.T, text, entities, mode, markup string) {
		r := call(t, s, "sendMessage", fields{"chat_id": 7, "text": text, "entities": entities, "parse_mode": mode, "reply_markup": markup})
		if !r.OK {
			if r.Status != http.StatusBadRequest || r.Description == "" {
				t.Errorf("answered %d %q", r.Status, r.Description)
			}
			return
		}
		var m sent
		if err := json.Unmarshal(r.Result, &m); err != nil {
			t.Fatal(err)
		}
		units := len(utf16.Encode([]rune(m.Text)))
		if units == 0 || units > 4096 {
			t.Errorf("a text of %d units was accepted", units)
		}
		for _, e := range m.Entities {
			if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > units {
				t.Errorf("the entity %+v is not in the text of %d units", e, units)
			}
		}
	})
}
