package messagesapi

import (
	"slices"
	"strings"
)

// validateToolUse checks across messages: every call is answered in the user
// message right after it, every result answers such a call, and no id is used
// twice. Neighbours of one role count as one message, and system messages do
// not separate.
func (r *request) validateToolUse() *apiError {
	var (
		role  string              // of the message being collected
		open  []string            // calls of the latest assistant message without a result
		calls = map[string]bool{} // ids of the latest assistant message
		ever  = map[string]bool{} // ids of all calls
	)
	for i, m := range r.Messages {
		if m.Role == "system" {
			continue
		}
		if m.Role == "assistant" && role != "assistant" {
			if len(open) > 0 {
				return unanswered(i, open)
			}
			clear(calls)
		}
		role = m.Role
		for _, b := range m.Content.of("tool_use") {
			if ever[b.ID] {
				return badRequest("messages.%d: `tool_use` ids must be unique", i)
			}
			ever[b.ID], calls[b.ID], open = true, true, append(open, b.ID)
		}
		for j, b := range m.Content.of("tool_result") {
			if !calls[b.ToolUseID] {
				return badRequest("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block"+
					" must have a corresponding `tool_use` block in the previous message.", i, j, b.ToolUseID)
			}
			k := slices.Index(open, b.ToolUseID)
			if k < 0 {
				return badRequest("messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` blocks"+
					" with id: %s", i, j, b.ToolUseID)
			}
			open = slices.Delete(open, k, k+1)
		}
	}
	if len(open) > 0 {
		return unanswered(len(r.Messages), open)
	}
	return nil
}

func unanswered(next int, ids []string) *apiError {
	return badRequest("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s.",
		next-1, strings.Join(ids, ", "))
}
