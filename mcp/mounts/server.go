package mounts

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bareclaw/core/tools"
)

// A Server describes a mounted server. Its JSON is that of the files of other MCP clients, with members of
// the gateway's own. Of Command and URL it has one.
type Server struct {
	Name string `json:"-"`

	Type    string            `json:"type,omitempty"` // stdio or http; empty: as Command and URL say
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	CWD     string            `json:"cwd,omitempty"` // absolute; empty: that of the sessions
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`

	Disabled bool           `json:"disabled,omitempty"`
	Category tools.Category `json:"category,omitempty"` // of its tools; empty: by the name of the server
	Prefix   *string        `json:"prefix,omitempty"`   // of its tools' names; nil: Name and _
	Allow    []string       `json:"allow,omitzero"`     // which tools nobody is asked about; nil: those that only read
	Scope    Scope          `json:"scope,omitempty"`    // empty: Shared
	Idle     Duration       `json:"idle,omitzero"`      // after which it ends; 0: Options.Idle
	Timeout  Duration       `json:"timeout,omitzero"`   // of a call; 0: DefaultTimeout
}

// DefaultIdle is how long a server runs that nobody uses, unless it or Options.Idle says otherwise.
const DefaultIdle = 5 * time.Minute

// CallTimeout bounds the call of a tool.
func (s *Server) CallTimeout() time.Duration { return cmp.Or(time.Duration(s.Timeout), DefaultTimeout) }

// DefaultTimeout bounds the call of a tool of a server that says no other time.
const DefaultTimeout = 2 * time.Minute

// AllowReadOnly in Allow stands for the tools that say that they change nothing.
const AllowReadOnly = "read-only"

// A Scope says who shares an instance of a server.
type Scope string

// The scopes.
const (
	Shared    Scope = "shared" // all callers
	PerCaller Scope = "caller" // none: each channel has an instance of its own
)

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Scope) UnmarshalText(text []byte) error {
	if scope := Scope(text); scope == Shared || scope == PerCaller {
		*s = scope
		return nil
	}
	return &valueError{fmt.Sprintf("a scope is %q or %q", Shared, PerCaller)}
}

// A Duration is written as 5m or 90s.
type Duration time.Duration

// maxDuration is the longest time, for what ends and for calls.
const maxDuration = 24 * time.Hour

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil || parsed < time.Second || parsed > maxDuration {
		return &valueError{"a time is 1s to 24h, as in 5m or 90s"}
	}
	*d = Duration(parsed)
	return nil
}

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// check returns what is wrong with the description. The error contains no value of Env or Headers.
func (s *Server) check() error {
	switch {
	case !IsName(s.Name):
		return fmt.Errorf("a name is 1 to %d letters, digits, _ and -, and begins with a letter or a digit", maxName)
	case s.Type == "sse":
		return errors.New("type: servers that speak SSE alone are not supported; most have a URL for http, too")
	case s.Type != "" && s.Type != "stdio" && s.Type != "http" && s.Type != "streamable-http":
		return errors.New(`type: it is "stdio" or "http"`)
	case (s.Command == "") == (s.URL == ""):
		return errors.New("it has either a command or a url")
	case s.Type != "" && (s.Type == "stdio") != (s.Command != ""):
		return errors.New("type: it does not fit: a command is stdio, a url is http")
	case s.CWD != "" && !filepath.IsAbs(s.CWD):
		return errors.New("cwd: it must be an absolute path")
	case s.Prefix != nil && *s.Prefix != "" && !IsName(*s.Prefix):
		return fmt.Errorf("prefix: it is at most %d letters, digits, _ and -", maxName)
	case s.Category != "" && !slices.Contains(tools.Categories(), s.Category):
		return fmt.Errorf("category: there are %s", join(tools.Categories()))
	}
	if err := s.checkURL(); err != nil {
		return err
	}
	for _, pattern := range s.Allow {
		if err := tools.CheckPattern(pattern); err != nil {
			return fmt.Errorf("allow: %w", err)
		}
	}
	return nil
}

func (s *Server) checkURL() error {
	if s.URL == "" || strings.Contains(s.URL, "${") { // is known when it is used
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("url: it must begin with http:// or https://, and name a host")
	}
	if u.User != nil {
		return errors.New("url: a name and a password belong into headers")
	}
	return nil
}

func join(all []tools.Category) string {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = string(c)
	}
	return strings.Join(names, ", ")
}

// categories are those of servers whose description says none, by words in the names of servers.
var categories = []struct {
	category tools.Category
	words    []string
}{
	{tools.Browser, []string{"browser", "playwright", "puppeteer", "chrome"}},
	{tools.Database, []string{"database", "postgres", "mysql", "sqlite", "mongo", "redis", "sql"}},
	{tools.GitHub, []string{"github"}},
	{tools.Docker, []string{"docker", "podman", "kubernetes"}},
	{tools.Filesystem, []string{"filesystem", "files"}},
}

// CategoryOf returns what the server's tools are for: Category, or what its name implies.
func (s *Server) CategoryOf() tools.Category {
	if s.Category != "" {
		return s.Category
	}
	for _, c := range categories {
		has := func(word string) bool { return strings.Contains(strings.ToLower(s.Name), word) }
		if slices.ContainsFunc(c.words, has) {
			return c.category
		}
	}
	return tools.Utility
}

// Allows reports whether nobody need be asked about a tool of the server that people know, by its name there.
func (s *Server) Allows(tool string, readOnly bool) bool {
	if s.Allow == nil || slices.Contains(s.Allow, AllowReadOnly) {
		return readOnly || s.names(tool)
	}
	return s.names(tool)
}

// names reports whether Allow has a pattern of a tool's name, which is the word of a person.
func (s *Server) names(tool string) bool {
	return slices.ContainsFunc(s.Allow, func(pattern string) bool {
		return pattern != AllowReadOnly && tools.Matches(pattern, tool)
	})
}

// NameOf returns the gateway's name of a tool of the server.
func (s *Server) NameOf(tool string) string {
	if strings.HasPrefix(tool, s.prefix()) {
		return tool
	}
	return s.prefix() + tool
}

// prefix returns what the gateway's names of the server's tools begin with.
func (s *Server) prefix() string {
	if s.Prefix != nil {
		return *s.Prefix
	}
	return s.Name + "_"
}
