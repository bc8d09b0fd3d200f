package api

import (
	"net/url"
	"time"
)

// ObserverPath returns the path of an observer.
func ObserverPath(id string) string { return PathObservers + "/" + url.PathEscape(id) }

// Observers is the reply to GET /observers.
type Observers struct {
	Observers []Observer `json:"observers"`       // the oldest first
	Directory string     `json:"directory"`       // of their records
	Notify    string     `json:"notify,omitzero"` // the channel that is told if an observer names none
	Notes     []string   `json:"notes,omitzero"`  // what is wrong with the records, in sentences
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
	Requests int       `json:"requests"` // that it has passed on
	Open     int       `json:"open"`     // findings that are not resolved
	Resolved int       `json:"resolved"`
	Problem  string    `json:"problem,omitzero"` // why the observer does not answer
}

// A StartObserver is the body of POST /observers.
type StartObserver struct {
	Dir     string `json:"dir"`              // of the app, absolute
	Target  string `json:"target"`           // where the app answers on this machine, such as http://localhost:3000
	Port    int    `json:"port,omitzero"`    // to open; 0: a free one
	Channel string `json:"channel,omitzero"` // that is told
	Notify  string `json:"notify,omitzero"`  // tell or off
}
