package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"bareclaw/core/commands"
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

// TestPromptOfACommand: a command may answer with a text for the agent, which the client sends, and comes
// and goes while the gateway runs.
func TestPromptOfACommand(t *testing.T) {
	t.Parallel()
	var list *commands.List
	r := newRig(t, func(o *Options) { list = o.Commands.NewList() })
	call := func() answer {
		return r.send("POST", "/channels/desk/commands", `{"text":"/fix-app the shop"}`)
	}
	r.want(call(), http.StatusNotFound, "unknown_command")
	check.OK(t, list.Replace(commands.Command{
		Name:   "fix-app",
		Help:   "mend an app",
		Access: commands.Reads,
		Prompt: &commands.Prompt{
			Args: []commands.Arg{{Name: "app", Required: true}},
			Text: func(_ context.Context, c commands.Call, values map[string]string) (string, error) {
				return "Fix " + values["app"] + " for " + string(c.Channel) + ".", nil
			},
		},
	}))
	said := r.called("desk", "/fix-app the shop")
	if said["prompt"] != "Fix the shop for desk." || said["text"] != "" {
		t.Errorf("the answer is %v", said)
	}
	if usage := r.called("desk", "/fix-app"); usage["prompt"] != nil || !strings.Contains(usage["text"].(string), "Write `/fix-app APP`.") {
		t.Errorf("without the argument it is %v", usage)
	}
	if help := r.called("desk", "/help")["text"].(string); !strings.Contains(help, "/fix-app – mend an app\n") {
		t.Errorf("the help is %q", help)
	}
	check.OK(t, list.Replace())
	r.want(call(), http.StatusNotFound, "unknown_command")
}

// TestCommandsOverTheSocket: the agent's own commands reach the socket, and must not widen what the
// agent may do, nor act where another one may do more. Each command of the gateway is called, without
// an argument and with one.
func TestCommandsOverTheSocket(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	check.OK(t, r.ChannelSettings.ChangeSettings(t.Context(), "wide", settings.Choice{PermissionMode: new("acceptEdits")}))
	const refused = http.StatusForbidden
	answers := map[string]struct {
		narrow int // status on a channel with the gateway's own rights
		wide   int // status on a channel with more
	}{
		"/new":               {200, refused},
		"/new x":             {200, refused},
		"/stop":              {200, refused},
		"/stop x":            {200, refused},
		"/status":            {200, 200},
		"/status x":          {200, 200},
		"/queue":             {200, 200},
		"/queue drop x":      {200, refused},
		"/model":             {200, 200},
		"/model opus":        {200, refused},
		"/mode":              {200, 200},
		"/mode plan":         {refused, refused},
		"/mode reset":        {refused, refused},
		"/MODE\tacceptEdits": {refused, refused},
		"/usage":             {200, 200},
		"/usage x":           {200, 200},
		"/rules":             {200, 200},
		"/rules remove x":    {200, refused},
		"/why":               {200, 200},
		"/why x":             {200, 200},
		"/tools":             {200, 200},
		"/tools x":           {200, 200},
		"/mounts":            {200, 200},
		"/mounts x":          {200, 200},
		"/help":              {200, 200},
		"/help x":            {200, 200},
	}
	for text, want := range answers {
		for channel, status := range map[string]int{"narrow": want.narrow, "wide": want.wide} {
			a := r.do(r.local, r.request("POST", "/channels/"+channel+"/commands", `{"text":`+quoted(t, text)+`}`))
			code := ""
			if status == refused {
				code = "not_on_socket"
			}
			r.want(a, status, code)
		}
	}
	if own := r.ChannelSettings.Settings("wide"); own.PermissionMode != "acceptEdits" || own.Model != "" {
		t.Errorf("the channel has %+v", own)
	}
	r.called("wide", "/mode plan")
	if own := r.ChannelSettings.Settings("wide"); own.PermissionMode != "plan" {
		t.Errorf("over TCP it is left at %+v", own)
	}

	alone, withArgument := map[string]bool{}, map[string]bool{}
	for text := range answers {
		name, arg, _ := commands.Parse(text)
		if arg == "" {
			alone[strings.ToLower(name)] = true
		} else {
			withArgument[strings.ToLower(name)] = true
		}
	}
	for _, c := range r.commands().All() {
		if !alone[c.Name] || !withArgument[c.Name] {
			t.Errorf("/%s: nothing is expected of a call without an argument, or of one with an argument", c.Name)
		}
	}
}
