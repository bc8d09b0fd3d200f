package api

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bareclaw/internal/mdtext"
)

// ObserverAPI is the pattern of the path before those of an observer's own API.
const ObserverAPI = PathObservers + "/{id}/api"

// Values of Observer.Notify and StartObserver.Notify.
const (
	NotifyTell = "tell" // people are told what is found
	NotifyFix  = "fix"  // and the channel's agent is asked to fix it
	NotifyOff  = "off"  // it is only kept
)

// Observers is the reply to GET /observers.
type Observers struct {
	Observers []Observer `json:"observers"`       // that run, the oldest first
	Directory string     `json:"directory"`       // of their records
	Notify    string     `json:"notify,omitzero"` // the channel that is told if an observer names none
	Port      int        `json:"port"`            // of the gateway, which is none of an app
	// Prefixes are those of the channels behind which there are people who can be told; null: not known.
	Prefixes []string `json:"push_prefixes"`
	Notes    []string `json:"notes,omitzero"` // what is wrong with the records, in sentences
}

// An Observer watches a web app.
type Observer struct {
	ID       string    `json:"id"`
	Dir      string    `json:"dir"`              // of the app
	Address  string    `json:"address"`          // to open, such as http://127.0.0.1:4400
	Target   string    `json:"target,omitzero"`  // where the app answers, if the observer did not start it
	Command  string    `json:"command,omitzero"` // that started the app
	PID      int       `json:"pid"`
	Port     int       `json:"port"` // of its API
	Channel  string    `json:"channel,omitzero"`
	Notify   string    `json:"notify"` // tell, fix or off
	Started  time.Time `json:"started"`
	Requests int       `json:"requests"` // to the app that it has looked at
	Open     int       `json:"open"`     // findings that are not resolved
	Resolved int       `json:"resolved"`
	// Severities are the numbers of open findings: critical, warning and info.
	Severities map[string]int `json:"severities"`
	Problem    string         `json:"problem,omitzero"`   // why the observer does not answer
	Problems   []string       `json:"problems,omitempty"` // what is wrong with the observer itself, in sentences
}

// Twins names in sentences the directories in which several observers run. A directory may have several names.
func (o *Observers) Twins() (twins []string) {
	byDir := map[string][]string{}
	for i := range o.Observers {
		dir := o.Observers[i].Dir
		if followed, err := filepath.EvalSymlinks(dir); err == nil {
			dir = followed
		}
		byDir[dir] = append(byDir[dir], o.Observers[i].ID)
	}
	for _, dir := range slices.Sorted(maps.Keys(byDir)) {
		if ids := byDir[dir]; len(ids) > 1 {
			twins = append(twins, fmt.Sprintf("%d observers run in %s: stop all but one of %s.", len(ids), dir, strings.Join(ids, ", ")))
		}
	}
	return twins
}

// Problems returns what is wrong with the observers, in sentences, as GET /health tells it.
func (o *Observers) Problems() []string {
	problems := slices.Concat(o.Notes, o.Twins())
	for i := range o.Observers {
		r := &o.Observers[i]
		if r.Problem != "" {
			problems = append(problems, mdtext.Ended(fmt.Sprintf("The observer %s of %s does not answer: %s", r.ID, r.Dir, r.Problem)))
		}
		for _, problem := range r.Problems {
			problems = append(problems, mdtext.Ended(fmt.Sprintf("The observer %s of %s: %s", r.ID, r.Dir, problem)))
		}
	}
	return problems
}

// Health returns the observers as GET /health tells of them; nil: none runs.
func (o *Observers) Health() *ObserversHealth {
	if len(o.Observers) == 0 {
		return nil
	}
	h := &ObserversHealth{
		Running: len(o.Observers),
		Open:    map[string]int{},
	}
	for i := range o.Observers {
		for severity, n := range o.Observers[i].Severities {
			h.Open[severity] += n
		}
	}
	return h
}

// ObserversHealth counts the observers that run.
type ObserversHealth struct {
	Running int            `json:"running"`
	Open    map[string]int `json:"open"` // their open findings by severity, as they were some seconds ago
}

// A StartObserver is the body of POST /observers.
type StartObserver struct {
	Dir     string `json:"dir"`              // of the app, absolute
	Target  string `json:"target"`           // where the app answers on this machine, such as http://localhost:3000
	Port    int    `json:"port,omitzero"`    // to open; 0: a free one
	Channel string `json:"channel,omitzero"` // that is told; empty: that of the setting BARECLAW_OBSERVE_NOTIFY
	Notify  string `json:"notify,omitzero"`  // NotifyTell, which empty stands for, or NotifyOff
}
