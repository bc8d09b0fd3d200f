package runner

import (
	"encoding/json"
	"fmt"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// A headed schema is what a schema says of the HTTP headers that carry arguments.
type headed struct {
	Type       any               `json:"type"`
	Header     json.RawMessage   `json:"x-mcp-header"`
	Properties map[string]headed `json:"properties"`
}

// checkHeaders returns which x-mcp-header of a schema clients over HTTP refuse: with it they refuse the tool.
func checkHeaders(schema json.RawMessage) error {
	var s headed
	_ = json.Unmarshal(schema, &s) // what has another form says nothing of headers
	return s.check("", map[string]bool{})
}

// check is checkHeaders for the properties below a path. taken are the headers that others have.
func (s *headed) check(path string, taken map[string]bool) error {
	for name, p := range s.Properties {
		at := path + "/properties/" + name
		if p.Header != nil {
			var header string
			switch err := json.Unmarshal(p.Header, &header); {
			case p.Type != "string" && p.Type != "integer" && p.Type != "boolean":
				return fmt.Errorf("%s: only a string, an integer or a boolean can have an x-mcp-header", at)
			case err != nil || !httpguts.ValidHeaderFieldName(header):
				return fmt.Errorf("%s: the x-mcp-header %.100s is not the name of an HTTP header", at, p.Header)
			case taken[strings.ToLower(header)]:
				return fmt.Errorf("%s: another property has the x-mcp-header %.100q already", at, header)
			}
			taken[strings.ToLower(header)] = true
		}
		if err := p.check(at, taken); err != nil {
			return err
		}
	}
	return nil
}
