package commands

import (
	"cmp"
	"encoding/json"
	"strings"

	"bareclaw/core"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/visible"
)

// Summary returns the sender and the text of a message, on one line.
func Summary(m *core.Message) string {
	text := cmp.Or(m.Content.Text, blocksText(m.Content.Blocks))
	if m.Origin.User != "" {
		text = m.Origin.User + ": " + text
	}
	return mdtext.Brief(text, 100)
}

// blocksText returns the text of a message's text blocks, and the kinds of the other
// blocks.
func blocksText(blocks []json.RawMessage) string {
	var texts []string
	for _, raw := range blocks {
		var b struct{ Type, Text string }
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		if b.Type != "text" {
			b.Text = "[" + b.Type + "]"
		}
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, " ")
}

// subject returns what an approval is about.
func subject(p *core.Approval) string {
	subject, _, _ := words(p)
	return subject
}

// words returns the subject of an approval, and the outcomes.
func words(p *core.Approval) (subject, yes, no string) {
	switch {
	case p.Kind == core.ApprovalContinue:
		return "Continuing", "Continued", "Dropped"
	case p.Tool == core.ToolAskUser:
		return "Claude's question", "Answered", "Not answered"
	case p.Tool == core.ToolExitPlan:
		return "The plan", "Approved", "Sent back"
	}
	return visible.Line(p.Tool), "Allowed", "Denied"
}

// Outcome describes the outcome of an approval, and names the person who decided.
func Outcome(p *core.Approval) string {
	by := ""
	if p.DecidedBy != "" {
		by = " by " + mdtext.Brief(p.DecidedBy, 60)
	}
	_, yes, no := words(p)
	switch p.State {
	case core.ApprovalAllowed:
		return yes + by
	case core.ApprovalDenied:
		if p.Reason == "" || p.Kind == core.ApprovalContinue {
			return no + by
		}
		return no + by + ": " + mdtext.Brief(p.Reason, 300)
	case core.ApprovalExpired:
		return "Expired: nobody answered in time"
	case core.ApprovalVoid:
		if p.Kind == core.ApprovalContinue {
			return "The conversation was reset"
		}
		return "The turn ended before this was answered"
	case core.ApprovalPending:
	}
	return "Waiting for an answer"
}
