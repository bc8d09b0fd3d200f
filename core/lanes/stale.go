package lanes

import (
	"fmt"
	"strings"

	"bareclaw/core"
)

// settingsStale reports whether the session was started with other settings than the
// channel's present settings.
func (l *lane) settingsStale() bool {
	return l.session != nil && l.session.info.Settings != l.manager.ChannelSettings.Fingerprint(l.key)
}

// replaceIfStale reports whether the session may run another turn. A session with outdated
// settings is ended, and waiting messages run in a resuming session. Background tasks, the
// report of ended tasks and pending approvals keep the process: turns run with the old
// settings meanwhile.
func (l *lane) replaceIfStale() bool {
	if !l.settingsStale() || l.session.background.keepsSettings() || len(l.pendingApprovals) > 0 {
		return true
	}
	l.endIdle("its channel has other settings")
	return false
}

// withUndo appends, to the outcome of a turn failed by a channel setting, how to remove the
// setting.
func (l *lane) withUndo(r core.Reply) core.Reply {
	s := l.manager.ChannelSettings.Settings(l.key)
	advice := &l.manager.o.Advice
	var own, ways []string
	if s.Model != "" {
		own, ways = append(own, fmt.Sprintf("the model %q", s.Model)), append(ways, advice.UndoModel)
	}
	if s.PermissionMode != "" && r.Code != core.CodeBadModel {
		own, ways = append(own, fmt.Sprintf("the permission mode %q", s.PermissionMode)), append(ways, advice.UndoMode)
	}
	if len(own) == 0 {
		return r
	}
	undo := fmt.Sprintf(" This channel has %s of its own. Set another one, or remove it", strings.Join(own, " and "))
	if advice.Undo != "" {
		undo += ": " + strings.Join(ways, " and ") + ", or " + advice.Undo
	}
	undo += "."
	r.Text, r.Error = sentence(r.Text)+undo, sentence(r.Error)+undo
	return r
}

// sentence ends a text with a full stop, unless the text already ends a sentence.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}
