package heartbeat

import (
	"fmt"
	"io"
	"os"
	"strings"

	"bareclaw/core"
	"bareclaw/core/config"
	"bareclaw/core/schedule"
	"bareclaw/internal/humanize"
)

// Channel is the channel of the heartbeat's messages to the agent. The channel has a
// separate session, and people may write there too.
const Channel = "heartbeat"

// ID is the id of the heartbeat's schedule.
const ID = "heartbeat"

// clearSession is the command that begins a fresh claude session, without a model call.
const clearSession = "/clear"

// Job returns the heartbeat's schedule, run by the gateway on request of a tick.
func Job(h config.Heartbeat) schedule.BuiltIn {
	return schedule.BuiltIn{
		ID:       ID,
		Channel:  Channel,
		Title:    "Heartbeat",
		Text:     func() (string, error) { return messageText(h) },
		Fresh:    clearSession,
		Precheck: string(h.Precheck),
		Notify:   core.ChannelKey(h.Notify),
		Quiet:    AllWell,
	}
}

// AllWell is the agent's answer when nothing needs attention.
const AllWell = "HEARTBEAT_OK"

const (
	look     = "Heartbeat. Check if anything needs attention: pending tasks, reminders, scheduled work, and what your notes say about heartbeats."
	tellHere = "If something needs the user's attention, say it in your answer: the answer is sent to the user."
	tellUser = "If something needs the user's attention, push a message to a channel of theirs."
	ifWell   = "If nothing needs the user's attention, answer exactly " + AllWell + " and nothing else."
)

// maxText is the size limit of a message file, in bytes.
const maxText = 256 << 10

// messageText returns the prompt for the agent. Every prompt defines the answer for when
// nothing needs attention.
func messageText(h config.Heartbeat) (string, error) {
	text := string(h.Message)
	if path, isFile := strings.CutPrefix(text, "@"); isFile {
		var err error
		if text, err = readText(path); err != nil {
			return "", fmt.Errorf("read the heartbeat's message (BARECLAW_HEARTBEAT_MESSAGE): %w", err)
		}
	}
	text = strings.TrimSpace(humanize.Plain(text))
	switch {
	case text == "" && h.Notify != "":
		return look + " " + tellHere + " " + ifWell, nil
	case text == "":
		return look + " " + tellUser + " " + ifWell, nil
	case strings.Contains(text, AllWell):
		return text, nil
	}
	return text + "\n\n" + ifWell, nil
}

func readText(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("%s is larger than %d KiB", path, maxText>>10)
	}
	if err == nil && strings.TrimSpace(string(text)) == "" {
		err = fmt.Errorf("%s is empty", path)
	}
	return string(text), err
}
