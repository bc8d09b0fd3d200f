package rules

import (
	"maps"
	"slices"
	"strings"
)

// sentJSON returns what the request has as JSON, or nil.
func (s *Subject) sentJSON() any { return s.sent.parse(&s.Request.Sent) }

// receivedJSON returns what the response has as JSON, or nil.
func (s *Subject) receivedJSON() any { return s.received.parse(&s.Request.Received) }

// repliedJSON reports whether the request succeeded and the response is JSON.
func repliedJSON(s *Subject) bool { return returned(s.Request) && s.receivedJSON() != nil }

// repliedRecords reports whether the response shows what records of the endpoint look like.
func repliedRecords(s *Subject) bool {
	return repliedJSON(s) && hasRecord(s.receivedJSON()) && !repliedNothing(s)
}

// hasRecord reports whether a value is an object, or a list with one.
func hasRecord(value any) bool {
	_, isObject := value.(map[string]any)
	return isObject || record(value) != nil
}

// isEmptyList reports whether a value is a list without items, also as {"items": [], "total": 0}.
func isEmptyList(value any) bool {
	list, isList := value.([]any)
	object, isObject := value.(map[string]any)
	if isList || !isObject || len(object) > OverfetchMaxWrapperKeys {
		return isList && len(list) == 0
	}
	isEmpty := false
	for _, field := range object {
		if size(field) > 0 {
			return false
		}
		_, isList := field.([]any)
		isEmpty = isEmpty || isList
	}
	return isEmpty
}

// isFailure reports whether a value says that there was an error, as replies do whose status says that all is well.
func isFailure(value any) bool {
	object, _ := value.(map[string]any)
	for _, key := range []string{"error", "errors"} {
		text, _ := object[key].(string)
		if text != "" || size(object[key]) > 0 {
			return true
		}
	}
	return false
}

// walk calls visit for the fields of all objects in a value, down to MaxObjectScanDepth, and of arrays in
// at most so many items as limit says.
func walk(value any, limit int, visit func(key string, value any)) {
	walkBelow(value, limit, MaxObjectScanDepth, visit)
}

func walkBelow(value any, limit, depth int, visit func(key string, value any)) {
	if depth == 0 {
		return
	}
	switch v := value.(type) {
	case []any:
		for _, item := range v[:min(len(v), limit)] {
			walkBelow(item, limit, depth-1, visit)
		}
	case map[string]any:
		for key, field := range v {
			visit(key, field)
			walkBelow(field, limit, depth-1, visit)
		}
	}
}

// keys returns the keys of fields that match, each once and in order.
func keys(value any, match func(key string, value any) bool) []string {
	var found []string
	walk(value, SecretScanArrayLimit, func(key string, value any) {
		if match(key, value) {
			found = append(found, key)
		}
	})
	slices.Sort(found)
	return slices.Compact(found)
}

// unwrap returns the data of a response that is an object around them, as {"data": [...]}.
func unwrap(value any) any {
	object, isObject := value.(map[string]any)
	if !isObject || len(object) > OverfetchMaxWrapperKeys {
		return value
	}
	best := value
	bestSize := OverfetchUnwrapMinSize - 1
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if n := size(object[key]); n > bestSize {
			best = object[key]
			bestSize = n
		}
	}
	return best
}

// size returns the number of items or fields.
func size(value any) int {
	switch v := value.(type) {
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	return 0
}

// record returns the object itself, or the first of a list.
func record(value any) map[string]any {
	if list, isList := value.([]any); isList && len(list) > 0 {
		value = list[0]
	}
	object, _ := value.(map[string]any)
	return object
}

// isInternalID knows the names of keys of a database.
func isInternalID(key string) bool {
	switch key {
	case "id", "createdBy", "updatedBy":
		return true
	}
	return strings.HasSuffix(key, "Id") || strings.HasSuffix(key, "_id")
}

// internalIDs returns the number of fields that are keys of a database.
func internalIDs(object map[string]any) int {
	n := 0
	for key := range object {
		if isInternalID(key) {
			n++
		}
	}
	return n
}
