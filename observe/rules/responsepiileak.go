package rules

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"bareclaw/observe/capture"
)

var responsePIILeak = Rule{
	ID:       "response-pii-leak",
	Category: Security,
	Severity: Warning,
	Title:    "Personal data in a response",
	Advice:   "Return only the fields that the client needs, not whole records of people.",
	Needs:    capture.Response | capture.Body,
	Check:    checkResponsePIILeak,
	clears:   repliedRecords,
}

func checkResponsePIILeak(s *Subject) []Match {
	if !repliedJSON(s) || isSelfService(path(s.Request)) {
		return nil
	}
	what := personalData(s)
	if what == "" {
		return nil
	}
	return []Match{{Description: Describe("The response contains personal data: %s.", what)}}
}

// isSelfService reports whether the path is for a user's own data, which the user may see.
func isSelfService(path string) bool {
	for segment := range strings.SplitSeq(strings.ToLower(path), "/") {
		switch segment {
		case "me", "account", "profile", "settings", "self":
			return true
		}
	}
	return false
}

// personalData says what of people the response has, or returns "".
func personalData(s *Subject) Figure {
	data := unwrap(s.receivedJSON())
	first := record(data)
	if internalIDs(first) == 0 && len(first) < FullRecordMinFields {
		return ""
	}
	if echoesEmail(s, data) {
		return "the email address that was sent, in a whole record"
	}
	list, isList := data.([]any)
	if isList && itemsWithEmail(list) >= ListPIIMinItems {
		return "a list of records with email addresses"
	}
	isFull := len(first) >= FullRecordMinFields && internalIDs(first) > 0
	if !isList && isFull && len(emails(data)) > 0 {
		return "a whole record with an email address"
	}
	if field := sensitiveField(first); field != "" {
		return Figure("the field " + name(field))
	}
	return ""
}

// echoesEmail reports whether a request to write gets back an email address that it has sent.
func echoesEmail(s *Subject, data any) bool {
	switch s.Request.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
	default:
		return false
	}
	sent := emails(s.sentJSON())
	for email := range emails(data) {
		if sent[email] {
			return true
		}
	}
	return false
}

func itemsWithEmail(list []any) int {
	n := 0
	for _, item := range list[:min(len(list), PIIScanArrayLimit)] {
		if len(emails(item)) > 0 {
			n++
		}
	}
	return n
}

var emailAddress = expression{text: `[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}`}

// emails returns the texts that have an email address.
func emails(value any) map[string]bool {
	found := make(map[string]bool)
	walk(value, PIIScanArrayLimit, func(_ string, value any) {
		text, _ := value.(string)
		if strings.Contains(text, "@") && emailAddress.pattern().MatchString(text) {
			found[text] = true
		}
	})
	return found
}

// sensitiveField returns the first field with a value that only personal data have, or "".
func sensitiveField(object map[string]any) string {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		value := object[key]
		if isSensitive(key) && value != nil && value != "" {
			return key
		}
	}
	return ""
}

func isSensitive(key string) bool {
	switch strings.ReplaceAll(strings.ToLower(key), "_", "") {
	case "phone", "phonenumber", "ssn", "socialsecuritynumber", "dateofbirth", "dob", "address", "streetaddress",
		"creditcard", "cardnumber", "bankaccount", "passport", "passportnumber", "nationalid":
		return true
	}
	return false
}
