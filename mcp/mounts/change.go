package mounts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bareclaw/core/tools"
	"bareclaw/internal/mdtext"
)

// maxShown bounds each of the two texts that show a change, in UTF-16 units, and leadIn is how much of them comes
// before the first difference, in bytes.
const (
	maxShown = 300
	leadIn   = 60
)

// changeOf says in a sentence what has changed of a tool.
func changeOf(before, now *tools.Tool) string {
	var changes []string
	if before.Description != now.Description {
		was, is := differ(before.Description, now.Description)
		changes = append(changes, fmt.Sprintf("its description was %q, and is now %q", was, is))
	}
	if !bytes.Equal(before.Input, now.Input) {
		changes = append(changes, "its parameters have changed"+parametersOf(before.Input, now.Input))
	}
	if before.Annotations.ReadOnly != now.Annotations.ReadOnly {
		changes = append(changes, fmt.Sprintf("it says that it only reads: %t, before: %t", now.Annotations.ReadOnly, before.Annotations.ReadOnly))
	} else if before.Annotations != now.Annotations {
		changes = append(changes, "its hints or its title have changed")
	}
	return "The server has changed this tool since it was known: " + strings.Join(changes, "; ") + "."
}

// newsOf says in a sentence that a server lists a tool that it did not list at first, and what the tool is.
func newsOf(server string, t *tools.Tool, since time.Time) string {
	return fmt.Sprintf("The mounted server %s has this tool since %s, and nobody has allowed it yet. It says of the tool: %q.",
		server, since.Format("2 January 2006"), mdtext.Brief(t.Description, maxShown))
}

// differ returns the parts of two texts from a little before their first difference.
func differ(before, now string) (was, is string) {
	same := 0
	for same < min(len(before), len(now)) && before[same] == now[same] {
		same++
	}
	from := max(0, same-leadIn)
	part := func(text string) string {
		lead := ""
		if from > 0 {
			lead = "… "
		}
		return lead + mdtext.Brief(strings.ToValidUTF8(text[from:], ""), maxShown)
	}
	return part(before), part(now)
}

// parametersOf names the parameters in which two schemas differ, as the end of a clause.
func parametersOf(before, now json.RawMessage) string {
	was, is := propertiesOf(before), propertiesOf(now)
	var added, changed, gone []string
	for _, name := range slices.Sorted(maps.Keys(is)) {
		switch old, known := was[name]; {
		case !known:
			added = append(added, name)
		case !bytes.Equal(old, is[name]):
			a, b := differ(string(old), string(is[name]))
			changed = append(changed, fmt.Sprintf("%s was %q, and is now %q", name, a, b))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, known := is[name]; !known {
			gone = append(gone, name)
		}
	}
	var ends []string
	for _, end := range []struct {
		word  string
		names []string
	}{{"new: ", added}, {"gone: ", gone}, {"", changed}} {
		if len(end.names) > 0 {
			ends = append(ends, end.word+mdtext.Shorten(strings.Join(end.names, ", "), 2*maxShown))
		}
	}
	if ends == nil {
		return ""
	}
	return " (" + strings.Join(ends, "; ") + ")"
}

// propertiesOf returns the properties of a schema.
func propertiesOf(schema json.RawMessage) map[string]json.RawMessage {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(schema, &s) // else none
	return s.Properties
}
