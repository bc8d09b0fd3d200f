package tools

import (
	"cmp"
	"context"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/observe/discovery"
)

func observeStart(f *finder) tools.Tool {
	return tools.Tool{
		Name: "observe_start",
		Description: "Observe a web app that runs already on this machine: returns the address to use in place of the app's own. " +
			"An app that is to be started is better run by `bareclaw observe --detach -- COMMAND`, which sees its queries and logs too.",
		Input: object(`"target":{"type":"string","minLength":1,"description":"The app's own address, such as http://localhost:3000."},`+
			`"port":{"type":"integer","minimum":1,"maximum":65535,"description":"On which to listen; a free one by default."},`+
			`"channel":{"type":"string","description":"Where new findings are told; your own channel by default."}`, "target"),
		Annotations: tools.Annotations{Title: "Observe an app", Destructive: tools.No},
		Timeout:     startTimeout,
		Reach: tools.ReachOf(func(_ context.Context, c tools.Call, args startArgs) (core.ChannelKey, error) {
			return cmp.Or(args.Channel, c.Channel), nil
		}),
		Handle: speaking(f.start),
	}
}

type startArgs struct {
	Target  string          `json:"target"`
	Port    int             `json:"port"`
	Channel core.ChannelKey `json:"channel"`
}

// A startedView is the result of observe_start.
type startedView struct {
	Observer shownObserver `json:"observer"`
}

func (f *finder) start(ctx context.Context, c tools.Call, args startArgs) (tools.Result, error) {
	target, err := checkTarget(args.Target)
	if err != nil {
		return tools.Result{}, err
	}
	all, err := f.live()
	if err != nil {
		return tools.Result{}, err
	}
	for i := range all {
		if all[i].Proxy == target {
			return tools.Result{}, sentencef("%s is the address of the observer %s, not of an app", data(target, maxName), id(all[i].ID))
		}
	}
	channel := cmp.Or(args.Channel, c.Channel)
	r, err := f.Observers.Start(ctx, Start{
		Dir:     f.Dir(channel),
		Target:  target,
		Port:    args.Port,
		Channel: channel,
	})
	if err != nil {
		return tools.Result{}, err
	}
	return result(&startedView{showObserver(&r)}, nil)
}

func (v *startedView) text(p *page) {
	o := &v.Observer
	p.line("Observed: %s. Use %s in place of the app's own address: only requests to it are seen. The observer is %s.", address(o.Target), address(o.Address), id(o.ID))
	p.line("Its queries and logs are seen only if it sends OpenTelemetry; `bareclaw observe --detach -- COMMAND` sees to that.")
}

// A shownObserver is an observer as tools show it.
type shownObserver struct {
	ID      string `json:"id"`
	State   string `json:"state"` // running, silent (does not answer) or ended
	Dir     string `json:"dir"`
	Target  string `json:"target,omitempty"`
	Address string `json:"address,omitempty"` // to use in place of the app's own
	Channel string `json:"channel,omitempty"`
	Notify  string `json:"notify,omitempty"`
	Command string `json:"command,omitempty"`
	Started string `json:"started"`
	// Problems are what is wrong with the observer itself, in sentences.
	Problems []string `json:"problems,omitempty"`
}

// The states of observers.
const (
	running = "running"
	silent  = "silent"
	ended   = "ended"
)

func showObserver(r *discovery.Record) shownObserver {
	return shownObserver{
		ID:      r.ID,
		State:   running,
		Dir:     oneLine(r.Dir, maxWords),
		Target:  oneLine(r.Target, maxName),
		Address: oneLine(r.Proxy, maxName),
		Channel: oneLine(r.Channel, maxName),
		Notify:  oneLine(r.Notify, maxName),
		Command: oneLine(r.Command, maxWords),
		Started: r.Started.Local().Format("2006-01-02 15:04:05"),
	}
}
