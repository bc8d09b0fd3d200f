package botapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"bareclaw/internal/testkit/botapi"
)

// reply is an answer of the Bot API.
type reply struct {
	OK          bool
	Code        int `json:"error_code"`
	Description string
	Result      json.RawMessage
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	}
	Status int `json:"-"`
}

type fields = map[string]any

// post makes a call with a JSON body. Errors of the network are returned.
func post(ctx context.Context, s *botapi.Server, method string, body fields) (reply, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return reply{}, err
	}
	return send(ctx, s.URL()+"/bot"+s.Token()+"/"+method, "application/json", data)
}

func send(ctx context.Context, url, contentType string, body []byte) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return reply{}, err
	}
	out := reply{Status: resp.StatusCode}
	if err := json.Unmarshal(data, &out); err != nil {
		return out, fmt.Errorf("%d %q: %w", resp.StatusCode, data, err)
	}
	return out, nil
}

// call makes a call that must be answered.
func call(t *testing.T, s *botapi.Server, method string, body fields) reply {
	t.Helper()
	r, err := post(t.Context(), s, method, body)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return r
}

// must makes a call that must be accepted, and decodes the result into dest.
func must(t *testing.T, s *botapi.Server, method string, body fields, dest any) {
	t.Helper()
	r := call(t, s, method, body)
	if !r.OK || r.Status != http.StatusOK {
		t.Fatalf("%s %v: %d %s", method, body, r.Code, r.Description)
	}
	if dest == nil {
		return
	}
	if err := json.Unmarshal(r.Result, dest); err != nil {
		t.Fatalf("%s: %v in %s", method, err, r.Result)
	}
}

// refused makes a call that must be answered with the error.
func refused(t *testing.T, s *botapi.Server, method string, body fields, code int, description string) reply {
	t.Helper()
	r := call(t, s, method, body)
	if r.OK || r.Code != code || r.Status != code || r.Description != description {
		t.Errorf("%s %v:\n got %d %d %q\nwant %d %q", method, body, r.Status, r.Code, r.Description, code, description)
	}
	return r
}

// sent is a message as it is answered.
type sent struct {
	ID       int `json:"message_id"`
	Thread   int `json:"message_thread_id"`
	Text     string
	Caption  string
	Entities []botapi.Entity
}

// say sends a text that must be accepted and returns its id.
func say(t *testing.T, s *botapi.Server, chat int64, text string) int {
	t.Helper()
	var m sent
	must(t, s, "sendMessage", fields{"chat_id": chat, "text": text}, &m)
	return m.ID
}

// upload makes a multipart call.
func upload(t *testing.T, s *botapi.Server, method string, values map[string]string, field, name string, data []byte) reply {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for k, v := range values {
		if err := form.WriteField(k, v); err != nil {
			t.Fatal(err)
		}
	}
	if field != "" {
		w, err := form.CreateFormFile(field, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := send(t.Context(), s.URL()+"/bot"+s.Token()+"/"+method, form.FormDataContentType(), body.Bytes())
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return r
}

// world is a server with Anna and her private chat.
func world(t *testing.T, opts ...botapi.Option) (*botapi.Server, *botapi.User, *botapi.Chat) {
	t.Helper()
	s := botapi.New(t, append([]botapi.Option{botapi.WithoutRates()}, opts...)...)
	anna := s.User(7, "Anna", "Arden", "anna")
	return s, anna, s.Private(anna)
}

func repeat(text string, n int) string { return strings.Repeat(text, n) }

func decode(t *testing.T, data []byte, dest any) {
	t.Helper()
	if err := json.Unmarshal(data, dest); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
}

func keyboard(rows ...[]fields) fields { return fields{"inline_keyboard": rows} }

func button(text, data string) fields { return fields{"text": text, "callback_data": data} }

// picture is a PNG of the size.
func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
