package progress

import (
	"encoding/json"
	"fmt"
)

// A Change is a part of a file replaced by a tool call.
type Change struct {
	ID   string // unique, and the same in each replay
	Tool string // Edit, MultiEdit, Write, NotebookEdit
	File string // path as written by the agent: untrusted
	Old  string // empty if unknown, as with Write and NotebookEdit
	New  string
}

// changes returns the replacements made by a call with the input: a single Change, or a
// Change for each edit of a MultiEdit. The result is empty for tools that change no files
// and for malformed input.
func changes(tool, id string, input json.RawMessage) []Change {
	var in struct {
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
		Old      string `json:"old_string"`
		New      string `json:"new_string"`
		Content  string `json:"content"`
		Source   string `json:"new_source"`
		Edits    []struct {
			Old string `json:"old_string"`
			New string `json:"new_string"`
		} `json:"edits"`
	}
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	switch tool {
	case "Edit":
		return []Change{{ID: id, Tool: tool, File: in.File, Old: in.Old, New: in.New}}
	case "Write":
		return []Change{{ID: id, Tool: tool, File: in.File, New: in.Content}}
	case "NotebookEdit":
		return []Change{{ID: id, Tool: tool, File: in.Notebook, New: in.Source}}
	case "MultiEdit":
		var all []Change
		for i, e := range in.Edits {
			all = append(all, Change{ID: fmt.Sprintf("%s/%d", id, i), Tool: tool, File: in.File, Old: e.Old, New: e.New})
		}
		return all
	}
	return nil
}
