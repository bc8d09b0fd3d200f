package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"bareclaw/internal/testkit/botapi"
)

// order is the body of a POST; each route reads its own fields.
//
//	/user    id first last username     makes a person known and opens the private chat
//	/group   id title kind members      kind is group, supergroup or forum
//	/topic   chat by name               answers {"thread":N}
//	/send    chat by text [thread]      answers {"UpdateID":N,"MessageID":N}
//	/tap     chat by message button     answers {"ID":"…","UpdateID":N}
//	/stop    chat [thread]              the Stop button of a draft
//	/fault   [method] [chat] fault [retry_after]
//
// GET /messages?chat=N, /calls and /dump show what happened.
type order struct {
	ID         int64   `json:"id"`
	First      string  `json:"first"`
	Last       string  `json:"last"`
	Username   string  `json:"username"`
	Title      string  `json:"title"`
	Kind       string  `json:"kind"`
	Members    []int64 `json:"members"`
	Chat       int64   `json:"chat"`
	By         int64   `json:"by"`
	Name       string  `json:"name"`
	Text       string  `json:"text"`
	Thread     int     `json:"thread"`
	Message    int     `json:"message"`
	Button     string  `json:"button"`
	Method     string  `json:"method"`
	Fault      string  `json:"fault"`
	RetryAfter int     `json:"retry_after"`
}

// A control lets clients act as users.
type control struct{ s *botapi.Server }

func newControl(s *botapi.Server) http.Handler {
	c := control{s: s}
	mux := http.NewServeMux()
	for path, carryOut := range map[string]func(order) (any, error){
		"/user": c.user, "/group": c.group, "/topic": c.topic, "/send": c.send, "/tap": c.tap, "/stop": c.stop, "/fault": c.fault,
	} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { serve(w, r, carryOut) })
	}
	mux.HandleFunc("GET /messages", c.messages)
	mux.HandleFunc("GET /calls", func(w http.ResponseWriter, _ *http.Request) { answer(w, s.Calls(), nil) })
	mux.HandleFunc("GET /dump", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, s.Dump()) // a client that is gone does not need it
	})
	return mux
}

// serve carries an order out. What no user could do is a 400.
func serve(w http.ResponseWriter, r *http.Request, carryOut func(order) (any, error)) {
	defer func() {
		switch misuse := recover().(type) {
		case nil:
		case botapi.Misuse:
			answer(w, nil, misuse)
		default:
			panic(misuse)
		}
	}()
	var o order
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		answer(w, nil, err)
		return
	}
	result, err := carryOut(o)
	answer(w, result, err)
}

func answer(w http.ResponseWriter, result any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		result = map[string]string{"error": err.Error()}
	}
	_ = json.NewEncoder(w).Encode(result) // a client that is gone does not need it
}

func (c control) user(o order) (any, error) {
	c.s.Private(c.s.User(o.ID, o.First, o.Last, o.Username))
	return struct{}{}, nil
}

func (c control) group(o order) (any, error) {
	var members []*botapi.User
	for _, id := range o.Members {
		u, err := c.person(id)
		if err != nil {
			return nil, err
		}
		members = append(members, u)
	}
	build := map[string]func(int64, string, ...*botapi.User) *botapi.Chat{"group": c.s.Group, "supergroup": c.s.Supergroup, "forum": c.s.Forum}[o.Kind]
	if build == nil {
		return nil, fmt.Errorf("there is no kind %q", o.Kind)
	}
	build(o.ID, o.Title, members...)
	return struct{}{}, nil
}

func (c control) topic(o order) (any, error) {
	chat, by, err := c.where(o)
	if err != nil {
		return nil, err
	}
	return map[string]int{"thread": chat.CreateTopic(by, o.Name)}, nil
}

func (c control) send(o order) (any, error) {
	chat, by, err := c.where(o)
	if err != nil {
		return nil, err
	}
	return chat.Send(by, o.Text, botapi.InTopic(o.Thread)), nil
}

func (c control) tap(o order) (any, error) {
	chat, by, err := c.where(o)
	if err != nil {
		return nil, err
	}
	return chat.Tap(by, o.Message, o.Button), nil
}

func (c control) stop(o order) (any, error) {
	chat, ok := c.s.FindChat(o.Chat)
	if !ok {
		return nil, fmt.Errorf("there is no chat %d", o.Chat)
	}
	return map[string]int64{"UpdateID": chat.StopDraft(o.Thread)}, nil
}

func (c control) fault(o order) (any, error) {
	steps := map[string]botapi.Step{
		"500": botapi.InternalError(), "502": botapi.BadGateway(), "409": botapi.Conflict(), "429": botapi.TooMany(max(o.RetryAfter, 1)),
		"reset_before": botapi.ResetBefore(), "reset_after": botapi.ResetAfter(), "reset_mid_body": botapi.ResetMidBody(),
	}
	step, ok := steps[o.Fault]
	if !ok {
		return nil, fmt.Errorf("there is no fault %q", o.Fault)
	}
	c.s.Script(o.Method, o.Chat, step)
	return struct{}{}, nil
}

func (c control) messages(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.URL.Query().Get("chat"), 10, 64)
	chat, ok := c.s.FindChat(id)
	if err == nil && !ok {
		err = errors.New("there is no such chat")
	}
	answer(w, chat.Messages(), err)
}

// where finds the chat and the person of an order.
func (c control) where(o order) (*botapi.Chat, *botapi.User, error) {
	chat, ok := c.s.FindChat(o.Chat)
	if !ok {
		return nil, nil, fmt.Errorf("there is no chat %d", o.Chat)
	}
	by, err := c.person(o.By)
	return chat, by, err
}

func (c control) person(id int64) (*botapi.User, error) {
	u, ok := c.s.FindUser(id)
	if !ok {
		return nil, fmt.Errorf("nobody has the id %d", id)
	}
	return u, nil
}
