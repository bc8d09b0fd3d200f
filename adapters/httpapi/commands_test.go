package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"bareclaw/core/settings"
	"bareclaw/internal/testkit/check"
)

// called calls a command on a channel.
func (r *rig) called(channel, text string) map[string]any {
	r.Helper()
	a := r.send("POST", "/channels/"+channel+"/commands", `{"text":`+quoted(r.T, text)+`}`)
	r.want(a, http.StatusOK, "")
	return a.object(r.T)
}

// TestCommands calls the commands of the gateway: a choice of a note is a command again.
func TestCommands(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.occupy("busy")
	r.submit(t, "busy", "later")
	queue := r.called("busy", "/queue")
	choices := queue["choices"].([]any)
	first := choices[0].(map[string]any)
	if len(choices) != 2 || first["label"] != "Drop 1" || !strings.Contains(queue["text"].(string), "1 message is waiting:") {
		t.Errorf("the queue is %v", queue)
	}
	drop := first["command"].(string)
	if other := r.called("quiet", drop)["text"].(string); !strings.HasPrefix(other, "This message is no longer known.") {
		t.Errorf("on another channel: %q", other)
	}
	if dropped := r.called("busy", drop); !strings.HasPrefix(dropped["text"].(string), "Dropped.\n\nNow: ") || len(dropped["choices"].([]any)) > 0 {
		t.Errorf("the answer is %v", dropped)
	}
	r.called("busy", "/model opus")
	if own := r.ChannelSettings.Settings("busy"); own.Model != "opus" {
		t.Errorf("the channel has %+v", own)
	}
	if why := r.called("busy", "/why")["text"].(string); !strings.Contains(why, "Cancelled before it was begun") {
		t.Errorf("of the dropped message it says %q", why)
	}
	for _, text := range []string{"/compact", "/etc/passwd", "hello", "/", ""} {
		a := r.send("POST", "/channels/busy/commands", `{"text":`+quoted(t, text)+`}`)
		r.want(a, http.StatusNotFound, "unknown_command")
	}
}

// TestCommandsOverTheSocket: the agent's own commands reach the socket, and must not widen what the
// agent may do, nor act where another one may do more.
func TestCommandsOverTheSocket(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	check.OK(t, r.ChannelSettings.ChangeSettings(t.Context(), "wide", settings.Choice{PermissionMode: new("acceptEdits")}))
	for command, want := range map[string][2]int{ // on a channel with the gateway's own rights, and on one with more
		"/status":            {200, 200},
		"/mode":              {200, 200},
		"/mode plan":         {403, 403},
		"/mode reset":        {403, 403},
		"/model opus":        {200, 403},
		"/rules":             {200, 200},
		"/rules remove x":    {200, 403},
		"/queue drop x":      {200, 403},
		"/stop":              {200, 403},
		"/new":               {200, 403},
		"/MODE\tacceptEdits": {403, 403},
	} {
		for i, channel := range []string{"narrow", "wide"} {
			a := r.do(r.local, r.request("POST", "/channels/"+channel+"/commands", `{"text":`+quoted(t, command)+`}`))
			code := map[int]string{403: "not_on_socket"}[want[i]]
			r.want(a, want[i], code)
		}
	}
	if own := r.ChannelSettings.Settings("wide"); own.PermissionMode != "acceptEdits" || own.Model != "" {
		t.Errorf("the channel has %+v", own)
	}
	r.called("wide", "/mode plan")
	if own := r.ChannelSettings.Settings("wide"); own.PermissionMode != "plan" {
		t.Errorf("over TCP it is left at %+v", own)
	}
}
