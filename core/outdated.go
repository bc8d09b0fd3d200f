package core

import (
	"fmt"
	"strings"
	"time"
)

// differs reports whether the session was started with other settings than the
// channel has now.
func (l *lane) differs() bool {
	return l.session != nil && l.info.Settings != l.m.settings.print(l.key)
}

// upToDate reports whether the session may get another turn. If it was started with
// other settings it is ended, and what waits runs in the one that resumes it.
// Background tasks keep their process, and so does the news of them: turns run with
// the old settings meanwhile.
func (l *lane) upToDate() bool {
	news := l.ownTurn || time.Now().Before(l.newsUntil) && !l.newsGuessed
	if !l.differs() || l.tasks > 0 || news || len(l.asked) > 0 {
		return true
	}
	l.endIdle("its channel has other settings")
	return false
}

// withUndo adds to the outcome of a turn that failed for what the channel is set to
// how that is taken back.
func (l *lane) withUndo(r Reply) Reply {
	s := l.m.settings.of(l.key)
	var own []string
	if s.Model != "" {
		own = append(own, fmt.Sprintf("the model %q", s.Model))
	}
	if s.PermissionMode != "" && r.Code != CodeBadModel {
		own = append(own, fmt.Sprintf("the permission mode %q", s.PermissionMode))
	}
	if len(own) == 0 {
		return r
	}
	undo := fmt.Sprintf(" This channel has %s of its own. Set another one, or take it back: PATCH /channels/{key} with an empty value.", strings.Join(own, " and "))
	r.Text, r.Error = r.Text+undo, r.Error+undo
	return r
}
