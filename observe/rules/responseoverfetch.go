package rules

import (
	"fmt"
	"strings"

	"bareclaw/observe/capture"
)

var responseOverfetch = Rule{
	ID:       "response-overfetch",
	Category: Performance,
	Severity: Info,
	Title:    "More fields than needed",
	Advice:   "Return only the fields that the client needs, not whole rows of the database.",
	Needs:    capture.Response | capture.Body,
	Check:    checkResponseOverfetch,
	clears:   repliedRecords,
}

func checkResponseOverfetch(s *Subject) []Match {
	if !repliedJSON(s) {
		return nil
	}
	object := record(unwrap(s.receivedJSON()))
	fields := len(object)
	if fields < OverfetchMinFields {
		return nil
	}
	empty := 0
	for _, value := range object {
		if value == nil {
			empty++
		}
	}
	var reasons []string
	if ids := internalIDs(object); ids >= OverfetchMinInternalIDs {
		reasons = append(reasons, fmt.Sprintf("%d internal ids", ids))
	}
	if float64(empty) >= float64(fields)*OverfetchNullRatio {
		reasons = append(reasons, fmt.Sprintf("%s empty", percent(empty, fields)))
	}
	if len(reasons) == 0 && fields < OverfetchManyFields {
		return nil
	}
	reasons = append([]string{fmt.Sprintf("%d fields", fields)}, reasons...)
	return []Match{{Description: Describe("A record in the response has %s.", Figure(strings.Join(reasons, ", ")))}}
}
