package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// do makes a request and decodes the answer into dest.
func do(t *testing.T, method, url, body string, dest any) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := dest.(*string); ok {
		*text = string(data)
	} else if err := json.Unmarshal(data, dest); err != nil {
		t.Fatalf("%s: %v in %s", url, err, data)
	}
	return resp.StatusCode
}

// launch runs the command until the test ends.
func launch(t *testing.T) (api, control string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"-token", "9:t"}, in) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var where struct{ API, Token, Control string }
	if err := json.Unmarshal(line, &where); err != nil {
		t.Fatal(err)
	}
	return where.API + "/bot" + where.Token, where.Control
}

func TestCommand(t *testing.T) {
	t.Parallel()
	api, control := launch(t)
	var none struct{ Error string }
	order := func(route, body string, dest any) {
		t.Helper()
		if code := do(t, http.MethodPost, control+route, body, dest); code != http.StatusOK {
			t.Fatalf("%s %s: %d %+v", route, body, code, dest)
		}
	}
	order("/user", `{"id":7,"first":"Anna"}`, &none)
	order("/group", `{"id":-5,"title":"Forum","kind":"forum","members":[7]}`, &none)
	var topic struct{ Thread int }
	order("/topic", `{"chat":-5,"by":7,"name":"Work"}`, &topic)
	var sent struct{ UpdateID, MessageID int64 }
	order("/send", fmt.Sprintf(`{"chat":-5,"by":7,"text":"hi","thread":%d}`, topic.Thread), &sent)
	order("/send", `{"chat":7,"by":7,"text":"hello"}`, &sent)

	var got struct {
		OK     bool
		Result struct {
			ID int `json:"message_id"`
		}
	}
	do(t, http.MethodPost, api+"/sendMessage", `{"chat_id":7,"text":"x","reply_markup":{"inline_keyboard":[[{"text":"Go","callback_data":"g"}]]}}`, &got)
	order("/tap", fmt.Sprintf(`{"chat":7,"by":7,"message":%d,"button":"Go"}`, got.Result.ID), &sent)
	do(t, http.MethodPost, api+"/sendMessageDraft", `{"chat_id":7,"draft_id":1,"text":"x","can_stop":true}`, &none)
	order("/stop", `{"chat":7}`, &sent)
	order("/fault", `{"method":"getMe","fault":"500"}`, &none)
	if code := do(t, http.MethodPost, api+"/getMe", "", &none); code != http.StatusInternalServerError {
		t.Errorf("a scripted 500 is %d", code)
	}

	var updates struct{ Result []map[string]any }
	do(t, http.MethodPost, api+"/getUpdates", "", &updates)
	if n := len(updates.Result); n != 5 || updates.Result[4]["stopped_message_generation"] == nil {
		t.Errorf("%d updates: %v", n, updates.Result)
	}
	var messages []struct{ Text string }
	do(t, http.MethodGet, control+"/messages?chat=7", "", &messages)
	if len(messages) != 2 || messages[1].Text != "x" {
		t.Errorf("messages %+v", messages)
	}
	var calls []struct{ Method string }
	do(t, http.MethodGet, control+"/calls", "", &calls)
	var dump string
	do(t, http.MethodGet, control+"/dump", "", &dump)
	if len(calls) != 4 || !strings.Contains(dump, "getMe") {
		t.Errorf("calls %+v\n%s", calls, dump)
	}
}

func TestOrdersRefused(t *testing.T) {
	t.Parallel()
	_, control := launch(t)
	for route, bodies := range map[string][]string{
		"/send":  {"{", `{"chat":99,"by":7}`, `{"chat":8,"by":99}`},
		"/tap":   {`{"chat":8,"by":8,"message":5,"button":"Go"}`, `{"chat":99}`},
		"/group": {`{"id":-9,"kind":"club"}`, `{"id":9,"kind":"group"}`, `{"id":-9,"kind":"group","members":[99]}`},
		"/topic": {`{"chat":99}`},
		"/stop":  {`{"chat":99}`, `{"chat":8}`},
		"/fault": {`{"fault":"flood"}`},
	} {
		var none struct{}
		do(t, http.MethodPost, control+"/user", `{"id":8,"first":"Bo"}`, &none)
		for _, body := range bodies {
			var got struct{ Error string }
			if code := do(t, http.MethodPost, control+route, body, &got); code != http.StatusBadRequest || got.Error == "" {
				t.Errorf("%s %s: %d %q", route, body, code, got.Error)
			}
		}
	}
	var got struct{ Error string }
	if code := do(t, http.MethodGet, control+"/messages?chat=99", "", &got); code != http.StatusBadRequest {
		t.Errorf("messages of no chat: %d", code)
	}
}
