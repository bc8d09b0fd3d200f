package sessionfile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bareclaw/core"
	"bareclaw/internal/humanize"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// format returns the contents of the file: an object sorted by channel, with two
// spaces of indentation and a newline at the end.
func format(ids map[core.ChannelKey]string) ([]byte, error) {
	b, err := json.Marshal(ids, json.Deterministic(true), jsontext.WithIndent("  "))
	return append(b, '\n'), err
}

// parse reads contents, and describes the first problem. Every valid entry before a
// mistake of syntax is kept; of entries with the same session only one is.
func parse(b []byte) (ids map[core.ChannelKey]string, problem error) {
	var all map[core.ChannelKey]any
	if err := json.Unmarshal(b, &all); err != nil {
		problem = fmt.Errorf("it is not a JSON object: %w", err)
	} else if all == nil {
		problem = errors.New("it is not a JSON object, but null")
	}
	ids = map[core.ChannelKey]string{}
	owners := map[string]core.ChannelKey{} // by session id in lower case
	for _, key := range slices.Sorted(maps.Keys(all)) {
		id, _ := all[key].(string)
		owner, taken := owners[strings.ToLower(id)]
		switch {
		case !validID(id):
			problem = cmp.Or(problem, fmt.Errorf("channel %q: %q is not a UUID", key, humanize.Shorten(fmt.Sprint(all[key]), 60)))
		case taken:
			problem = cmp.Or(problem, fmt.Errorf("channel %q has the same session as channel %q, %s", key, owner, id))
		default:
			ids[key], owners[strings.ToLower(id)] = id, key
		}
	}
	return ids, problem
}

func validID(id string) bool { return len(id) == 36 && uuid.Validate(id) == nil }
