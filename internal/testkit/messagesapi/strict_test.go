package messagesapi_test

import (
	"net/http"
	"strings"
	"testing"

	"bareclaw/internal/testkit/messagesapi"
)

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	with := func(key string, value any) object {
		body := conversation(user("echo x"))
		if body[key] = value; value == nil {
			delete(body, key)
		}
		return body
	}
	for name, tc := range map[string]struct {
		body object
		want string // part of the message
	}{
		"no model":             {with("model", nil), "model: Field required"},
		"no max_tokens":        {with("max_tokens", nil), "max_tokens: Field required"},
		"max_tokens 0":         {with("max_tokens", 0), "max_tokens"},
		"no messages":          {with("messages", nil), "at least one message"},
		"empty messages":       {with("messages", list{}), "at least one message"},
		"messages no list":     {with("messages", "text"), "not valid"},
		"content a number":     {conversation(user(7)), "content"},
		"content null":         {conversation(user(nil)), "non-empty content"},
		"empty content":        {conversation(user(list{})), "non-empty content"},
		"blank text":           {conversation(user(" \n")), "non-whitespace"},
		"unknown role":         {conversation(object{"role": "tool", "content": "x"}), "messages.0.role"},
		"assistant first":      {conversation(assistant("x"), user("y")), "first message"},
		"unknown block":        {conversation(user(list{object{"type": "audio"}})), "'audio'"},
		"bad tool name":        {with("tools", list{object{"name": "a b"}}), "tools.0.name"},
		"same tool twice":      {with("tools", list{object{"name": "A"}, object{"name": "A"}}), "unique"},
		"call by the user":     {conversation(user(list{toolUse("t1")})), "`assistant`"},
		"result by the model":  {conversation(user("x"), assistant(list{toolResult("t1", "y")})), "`user`"},
		"thinking by the user": {conversation(user(list{object{"type": "thinking"}})), "`assistant`"},
		"call without id":      {conversation(user("x"), assistant(list{toolUse("")})), "tool_use.id"},
		"call without input":   {conversation(user("x"), assistant(list{object{"type": "tool_use", "id": "a", "name": "B"}})), "input"},
		"result without id":    {conversation(user(list{toolResult("", "y")})), "tool_use_id"},
		"result without call":  {conversation(user("x"), assistant("y"), user(list{toolResult("t1", "y")})), "unexpected `tool_use_id`"},
		"unknown in a result": {conversation(user("x"), assistant(list{toolUse("t1")}),
			user(list{object{"type": "tool_result", "tool_use_id": "t1", "content": list{object{"type": "tool_use"}}}})), "'tool_use'"},
		"result of an older call": {conversation(user("x"), assistant(list{toolUse("t1")}), user(list{toolResult("t1", "y")}),
			assistant("z"), user(list{toolResult("t1", "y")})), "unexpected `tool_use_id`"},
		"two results": {conversation(user("x"), assistant(list{toolUse("t1")}),
			user(list{toolResult("t1", "y"), toolResult("t1", "y")})), "single result"},
		"call without result": {conversation(user("x"), assistant(list{toolUse("t1"), toolUse("t2")}),
			user(list{toolResult("t1", "y")}), assistant("z"), user("w")), "without `tool_result` blocks immediately after: t2"},
		"last call without result": {conversation(user("x"), assistant(list{toolUse("t1")}), user("y")), "t1"},
		"same id twice": {conversation(user("x"), assistant(list{toolUse("t1")}), user(list{toolResult("t1", "y")}),
			assistant(list{toolUse("t1")}), user(list{toolResult("t1", "y")})), "unique"},
		"image type":         {conversation(user(list{image("image/bmp", "AAAA")})), "media_type"},
		"image data":         {conversation(user(list{image("image/png", "%%%")})), "invalid base64"},
		"image empty":        {conversation(user(list{image("image/png", "")})), "empty"},
		"image no source":    {conversation(user(list{object{"type": "image"}})), "source"},
		"image source":       {conversation(user(list{object{"type": "image", "source": object{"type": "x"}}})), "'x'"},
		"image by the model": {conversation(user("x"), assistant(list{image("image/png", "AAAA")})), "`user`"},
	} {
		before := s.Count()
		status, a := ask(t, s, tc.body)
		if status != http.StatusBadRequest || a.Error.Type != "invalid_request_error" || !strings.Contains(a.Error.Message, tc.want) {
			t.Errorf("%s: status %d, %+v, want %q", name, status, a.Error, tc.want)
		}
		if seen := s.Requests(); len(seen) != before+1 || seen[before].Rejected != a.Error.Message {
			t.Errorf("%s: recorded as %+v", name, seen[before:])
		}
	}
}

func TestAcceptedRequests(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	reference := object{"type": "tool_result", "tool_use_id": "t1", "content": list{object{"type": "tool_reference", "tool_name": "X"}, image("image/gif", "AAAA")}}
	for name, body := range map[string]object{
		"system message between": conversation(user("echo x"), system("environment"), assistant(list{toolUse("t1"), toolUse("t2")}),
			user(list{toolResult("t1", "y")}), system("steered"), user(list{toolResult("t2", "")})),
		"call split over messages": conversation(user("echo x"), assistant(list{toolUse("t1")}), assistant(list{toolUse("t2")}),
			user(list{toolResult("t2", "y"), toolResult("t1", "y"), text("echo x")})),
		"rich result":    conversation(user("echo x"), assistant(list{toolUse("t1")}), user(list{reference})),
		"thinking":       conversation(user("a"), assistant(list{object{"type": "thinking", "thinking": "t", "signature": "s"}, text("b")}), user("echo x")),
		"image by url":   conversation(user(list{object{"type": "image", "source": object{"type": "url", "url": "u"}}, text("echo x")})),
		"system prompt":  {"model": "m", "max_tokens": 1, "system": list{text("be"), text("brief")}, "messages": list{user("echo x")}},
		"unknown fields": {"model": "m", "max_tokens": 1, "thinking": object{"type": "adaptive"}, "messages": list{user("echo x")}},
	} {
		if status, a := ask(t, s, body); status != http.StatusOK {
			t.Errorf("%s: status %d, %s", name, status, a.Error.Message)
		}
	}
}

func TestHeadersAndRoutes(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	send := func(method, path, body string, headers ...string) (int, answer) {
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if id := resp.Header.Get("Request-Id"); resp.StatusCode >= 400 && id == "" {
			t.Errorf("%s %s: no request-id", method, path)
		}
		return decode(t, resp)
	}
	good := `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"echo x"}]}`
	const version, bearer = "Anthropic-Version", "Authorization"
	for name, tc := range map[string]struct {
		method, path, body string
		headers            []string
		want               int
	}{
		"no key":               {"POST", "/v1/messages", good, []string{version, "1"}, 401},
		"token instead of key": {"POST", "/v1/messages", good, []string{version, "1", bearer, "Bearer t"}, 200},
		"no version":           {"POST", "/v1/messages", good, []string{bearer, "Bearer t"}, 400},
		"no JSON":              {"POST", "/v1/messages", "{", []string{version, "1", bearer, "Bearer t"}, 400},
		"too large":            {"POST", "/v1/messages", strings.Repeat(" ", 32<<20+1), []string{version, "1", bearer, "Bearer t"}, 413},
		"count":                {"POST", "/v1/messages/count_tokens", good, []string{version, "1", bearer, "Bearer t"}, 200},
		"count without model":  {"POST", "/v1/messages/count_tokens", "{}", []string{version, "1", bearer, "Bearer t"}, 400},
		"models":               {"GET", "/v1/models", "", nil, 200},
		"unknown":              {"GET", "/v1/other", "", nil, 404},
	} {
		if status, a := send(tc.method, tc.path, tc.body, tc.headers...); status != tc.want || (status >= 400) != (a.Type == "error") {
			t.Errorf("%s: status %d, %+v, want %d", name, status, a, tc.want)
		}
	}
	if got, want := s.Count(), 5; got != want {
		t.Errorf("%d requests counted, want %d: only those to /v1/messages", got, want)
	}
}
