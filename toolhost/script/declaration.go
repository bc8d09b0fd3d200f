package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"bareclaw/core/tools"
)

// Names of permissions.
const (
	network    = "network"
	filesystem = "filesystem"
)

var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,49}$`) })

// A declaration is the exported object as JSON. Members have any type, because the file may be
// wrong.
type declaration struct {
	Exports     []string `json:"exports"` // names of all exports
	Kind        string   `json:"kind"`    // of the export named tool
	Name        any      `json:"name"`
	Description any      `json:"description"`
	Schema      any      `json:"schema"`
	Output      any      `json:"outputSchema"`
	Handler     string   `json:"handler"` // its kind
	Permissions any      `json:"permissions"`
	Annotations any      `json:"annotations"`
	Timeout     any      `json:"timeoutMs"`
}

// declare takes over the exported object.
func (s *Script) declare(text string) error {
	var d declaration
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return fmt.Errorf("the exported tool is not JSON: %w", err)
	}
	name, _ := d.Name.(string)
	description, _ := d.Description.(string)
	switch {
	case d.Kind == "undefined":
		return fmt.Errorf("the file must export a constant named tool, as in: export const tool = {...}; its exports are %q", d.Exports)
	case d.Kind != "object":
		return fmt.Errorf("the exported tool must be an object, not a value of type %s", d.Kind)
	case !nameForm().MatchString(name):
		return fmt.Errorf("the name of the tool must be 1 to 50 lower-case letters, digits and _ and begin with a letter, not %s", show(d.Name))
	case description == "":
		return errors.New("the description of the tool must be a text")
	case d.Handler != "function":
		return errors.New("the handler of the tool must be a function")
	}
	s.Name, s.Description = name, description
	var err error
	if s.Input, err = objectSchema("schema", d.Schema); err != nil {
		return err
	}
	if d.Output != nil {
		if s.Output, err = objectSchema("outputSchema", d.Output); err != nil {
			return err
		}
	}
	if err := s.declarePermissions(d.Permissions); err != nil {
		return err
	}
	if err := s.declareAnnotations(d.Annotations); err != nil {
		return err
	}
	return s.declareTimeout(d.Timeout)
}

// objectSchema returns the schema of an object as JSON.
func objectSchema(member string, v any) (json.RawMessage, error) {
	schema, ok := v.(map[string]any)
	if !ok || schema["type"] != "object" {
		return nil, fmt.Errorf("the %s of the tool must be a JSON Schema whose type is \"object\"", member)
	}
	return json.Marshal(schema)
}

func (s *Script) declarePermissions(v any) error {
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return errors.New("the permissions of the tool must be a list, such as ['network']")
	}
	for _, p := range list {
		if err := checkPermission(p); err != nil {
			return err
		}
		if !slices.Contains(s.Permissions, p.(string)) {
			s.Permissions = append(s.Permissions, p.(string))
		}
	}
	return nil
}

func checkPermission(p any) error {
	switch p {
	case network, filesystem:
		return nil
	case "ai", "browser":
		return fmt.Errorf("the permission %q is not available yet; use network or filesystem", p)
	}
	return fmt.Errorf("there is no permission %s; there are network and filesystem", show(p))
}

// CheckMembers returns what is wrong with members of a tool that is made. The error begins with the name of
// the member.
func CheckMembers(description string, schema json.RawMessage, permissions []string) error {
	if description == "" {
		return errors.New("description: it must be a text that says what the tool does")
	}
	var members map[string]any
	if json.Unmarshal(schema, &members) != nil || members["type"] != "object" {
		return errors.New(`schema: it must be a JSON Schema whose type is "object", such as {"type":"object","properties":{"text":{"type":"string"}}}`)
	}
	for _, p := range permissions {
		if err := checkPermission(p); err != nil {
			return fmt.Errorf("permissions: %w", err)
		}
	}
	return nil
}

func (s *Script) declareAnnotations(v any) error {
	if v == nil {
		return nil
	}
	members, ok := v.(map[string]any)
	if !ok {
		return errors.New("the annotations of the tool must be an object")
	}
	for member, value := range members {
		if member == "title" {
			if s.Annotations.Title, ok = value.(string); !ok {
				return errors.New("the annotation title must be a text")
			}
			continue
		}
		yes, isBool := value.(bool)
		switch member {
		case "readOnlyHint":
			s.Annotations.ReadOnly = yes
		case "idempotentHint":
			s.Annotations.Idempotent = yes
		case "destructiveHint":
			s.Annotations.Destructive = tools.HintOf(yes)
		case "openWorldHint":
			s.Annotations.OpenWorld = tools.HintOf(yes)
		default:
			return fmt.Errorf("there is no annotation %q; there are title, readOnlyHint, idempotentHint, destructiveHint and openWorldHint", member)
		}
		if !isBool {
			return fmt.Errorf("the annotation %s must be true or false", member)
		}
	}
	return nil
}

func (s *Script) declareTimeout(v any) error {
	if v == nil {
		s.Timeout = tools.DefaultTimeout
		return nil
	}
	ms, ok := v.(float64)
	if !ok || ms < 1 || ms > float64(MaxTimeout.Milliseconds()) {
		return fmt.Errorf("timeoutMs of the tool must be a number from 1 to %d, not %s", MaxTimeout.Milliseconds(), show(v))
	}
	s.Timeout = time.Duration(ms * float64(time.Millisecond))
	return nil
}

// show returns a value as JSON, shortened.
func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil || len(b) > 100 {
		return fmt.Sprintf("a long value of type %T", v)
	}
	return string(b)
}

var exported = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`export\s+(?:const|let|var)\s+tool\b|export\s+default\b|export\s*\{`)
})

// exportPosition returns where the tool is exported, or the beginning of the file.
func exportPosition(source string) (line, column int) {
	at := exported().FindStringIndex(source)
	if at == nil {
		return 1, 1
	}
	return positionOf(source, at[0])
}
