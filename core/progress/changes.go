package progress

import (
	"encoding/json"
	"fmt"
)

// A Change is a piece of a file that a call has replaced.
type Change struct {
	ID   string // unique, and the same in each replay
	Tool string // Edit, MultiEdit, Write, NotebookEdit
	File string // as the agent named it: untrusted
	Old  string // empty where it is not known, as with Write and NotebookEdit
	New  string
}

// changes returns what a call with that input replaces: one change, or one for each
// edit of a MultiEdit; none for other tools and for an input that is not theirs.
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
	switch tool {
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
	default:
		return nil
	}
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	c := Change{ID: id, Tool: tool, File: in.File, Old: in.Old, New: in.New}
	switch tool {
	case "Write":
		c.Old, c.New = "", in.Content
	case "NotebookEdit":
		c.File, c.Old, c.New = in.Notebook, "", in.Source
	case "MultiEdit":
		var all []Change
		for i, e := range in.Edits {
			all = append(all, Change{ID: fmt.Sprintf("%s/%d", id, i), Tool: tool, File: in.File, Old: e.Old, New: e.New})
		}
		return all
	}
	return []Change{c}
}
