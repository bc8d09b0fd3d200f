package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// journal is what a test reads to prove what reached this program and what it
// did, across restarts: one JSON object per line, each appended with a single
// write. Events: start, taken (a user message was read), dropped (its uuid was
// known), begun (it is part of a turn; a folded one too), tool (a tool ran),
// ended (the turn is over), exit. A killed process writes no exit.
type journal struct {
	file    *os.File // nil: nobody asked
	session string
}

type journalLine struct {
	Time    time.Time `json:"time"`
	PID     int       `json:"pid"`
	Session string    `json:"session"`
	Event   string    `json:"event"`
	UUID    string    `json:"uuid,omitempty"`
	Text    string    `json:"text,omitempty"`
}

func openJournal(path, session string) (*journal, error) {
	j := &journal{session: session}
	if path == "" {
		return j, nil
	}
	var err error
	if j.file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return nil, fmt.Errorf("fakeclaude: open the journal: %w", err)
	}
	return j, nil
}

func (j *journal) note(event, uuid, text string) {
	if j.file == nil {
		return
	}
	line, err := json.Marshal(journalLine{time.Now(), os.Getpid(), j.session, event, uuid, text})
	if err != nil {
		panic(err) // plain strings always marshal
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		fmt.Fprintln(os.Stderr, "fakeclaude: write the journal:", err)
		os.Exit(exitBroken)
	}
}
