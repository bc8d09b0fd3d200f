package config

import (
	"fmt"
	"path/filepath"
	"strings"
)

// A local is a setting whose text means something else on each machine.
type local interface {
	// resolve replaces what Decode has read with what it means on a machine.
	resolve(m machine) error
}

const (
	acceptedPath      = "a path, absolute or starting with ~/"
	acceptedDirectory = "an existing directory, absolute or starting with ~/"
)

// checkPath refuses a path that is one on no machine.
func checkPath(path string) error {
	if strings.ContainsRune(path, 0) {
		return fmt.Errorf("%s holds a NUL byte", quoted(path))
	}
	if strings.HasPrefix(path, "~") && path != "~" && path[1] != '/' {
		return fmt.Errorf("%s names another user's home, which is not looked up", quoted(path))
	}
	return nil
}

// A Path is the absolute path of a file or directory, which need not exist.
type Path string

// Decode reads a path.
func (p *Path) Decode(text string) error {
	*p = Path(text)
	return checkPath(text)
}

func (p *Path) resolve(m machine) error {
	path, err := m.path(string(*p))
	*p = Path(path)
	return err
}

// Accepted describes paths.
func (*Path) Accepted() string { return acceptedPath }

// A SessionFile is the absolute path of the file with the session ids.
type SessionFile string

// Decode reads a path.
func (s *SessionFile) Decode(text string) error {
	*s = SessionFile(text)
	return checkPath(text)
}

// in resolves the path, relative to the directory of claude.
func (s *SessionFile) in(m machine, dir Directory) error {
	path, err := m.absolute(string(*s), string(dir))
	*s = SessionFile(path)
	return err
}

// Accepted describes paths of session files.
func (*SessionFile) Accepted() string {
	return "a path, absolute, starting with ~/ or relative to BARECLAW_CWD"
}

// A Directory is the absolute path of an existing directory.
type Directory string

// Decode reads a path.
func (d *Directory) Decode(text string) error {
	*d = Directory(text)
	return checkPath(text)
}

func (d *Directory) resolve(m machine) error {
	path, err := m.directory(string(*d))
	*d = Directory(path)
	return err
}

// Accepted describes directories.
func (*Directory) Accepted() string { return acceptedDirectory }

// Directories are absolute paths of existing directories.
type Directories []string

// Decode reads a list of paths.
func (d *Directories) Decode(text string) (err error) {
	*d, err = decodeList(text, func(path string) (string, error) { return path, checkPath(path) })
	return err
}

func (d *Directories) resolve(m machine) error {
	for i, text := range *d {
		path, err := m.directory(text)
		if err != nil {
			return err
		}
		(*d)[i] = path
	}
	return nil
}

// Accepted describes lists of directories.
func (*Directories) Accepted() string {
	return "a comma-separated list of existing directories, each absolute or starting with ~/"
}

// Source is the absolute path of the source tree that the program is built from, or [SourceOff];
// empty means that the gateway decides.
type Source string

// SourceOff is the Source of a program that is never built from source.
const SourceOff Source = "off"

// Decode reads a path, or off.
func (s *Source) Decode(text string) error {
	*s = Source(text)
	return checkPath(text)
}

func (s *Source) resolve(m machine) error {
	if *s == SourceOff {
		return nil
	}
	path, err := m.directory(string(*s))
	*s = Source(path)
	return err
}

// Accepted describes sources.
func (*Source) Accepted() string { return acceptedDirectory + ", or off" }

// A LogFile is the absolute path of the log, or one of [LogFileAuto] and [LogFileOff].
type LogFile string

// LogFileAuto is bareclaw.log in the state directory unless the systemd journal keeps the log;
// LogFileOff is no file.
const (
	LogFileAuto LogFile = "auto"
	LogFileOff  LogFile = "off"
)

// Decode reads a path, or one of the words.
func (l *LogFile) Decode(text string) error {
	*l = LogFile(text)
	return checkPath(text)
}

func (l *LogFile) resolve(m machine) error {
	if *l == LogFileAuto || *l == LogFileOff {
		return nil
	}
	path, err := m.path(string(*l))
	*l = LogFile(path)
	return err
}

// Accepted describes log files.
func (*LogFile) Accepted() string { return "auto, off or " + acceptedPath }

// A Command is a program: a bare name, which is looked up in PATH, or an absolute path.
type Command string

// Decode reads a name or a path.
func (c *Command) Decode(text string) error {
	*c = Command(text)
	if err := checkPrintable(text); err != nil {
		return err
	}
	return checkPath(text)
}

// resolve makes a path absolute, because claude is started in another directory.
func (c *Command) resolve(m machine) error {
	text := string(*c)
	if !strings.ContainsRune(text, '/') && !strings.HasPrefix(text, "~") {
		return nil
	}
	path, err := m.path(text)
	*c = Command(path)
	return err
}

// Accepted describes programs.
func (*Command) Accepted() string { return "the path or the name of a program" }

// TextOrFile is a text, or @ and the absolute path of a file with the text.
type TextOrFile string

// Decode reads a text, or @ and a path.
func (t *TextOrFile) Decode(text string) error {
	*t = TextOrFile(text)
	if path, isFile := strings.CutPrefix(text, "@"); isFile {
		return checkPath(path)
	}
	return nil
}

func (t *TextOrFile) resolve(m machine) error {
	path, isFile := strings.CutPrefix(string(*t), "@")
	if !isFile {
		return nil
	}
	path, err := m.path(path)
	*t = TextOrFile("@" + path)
	return err
}

// Accepted describes texts.
func (*TextOrFile) Accepted() string { return "a text, or @ and the path of a file" }

// A ToolGrant is one thing that tools of the tools directory may use: a host, or a directory.
type ToolGrant struct {
	Host     string // "*.example.com" is each name below example.com
	Dir      string // absolute
	ReadOnly bool   // of the directory
}

// ToolGrants are what tools of the tools directory may use.
type ToolGrants []ToolGrant

// Decode reads a list of network:HOST, network:*.DOMAIN, filesystem:/PATH and filesystem:/PATH:ro.
func (g *ToolGrants) Decode(text string) (err error) {
	*g, err = decodeList(text, parseGrant)
	return err
}

func parseGrant(text string) (ToolGrant, error) {
	kind, what, _ := strings.Cut(text, ":")
	switch kind {
	case "network":
		return parseHostGrant(what)
	case "filesystem":
		return parseDirGrant(what)
	}
	return ToolGrant{}, fmt.Errorf("%s has neither network: nor filesystem: in front", quoted(text))
}

func parseHostGrant(text string) (ToolGrant, error) {
	domain, isDomain := strings.CutPrefix(text, "*.")
	host, err := parseHost(domain)
	if err == nil && isDomain {
		host = "*." + host
	}
	return ToolGrant{Host: host}, err
}

func parseDirGrant(text string) (ToolGrant, error) {
	dir, readOnly := strings.CutSuffix(text, ":ro")
	if !filepath.IsAbs(dir) && !strings.HasPrefix(dir, "~/") {
		return ToolGrant{}, fmt.Errorf("%s is not an absolute path", quoted(dir))
	}
	return ToolGrant{Dir: dir, ReadOnly: readOnly}, checkPath(dir)
}

func (g *ToolGrants) resolve(m machine) error {
	for i, grant := range *g {
		if grant.Dir == "" {
			continue
		}
		dir, err := m.path(grant.Dir)
		if err != nil {
			return err
		}
		(*g)[i].Dir = dir
	}
	return nil
}

// Accepted describes lists of grants.
func (*ToolGrants) Accepted() string {
	return "a comma-separated list of network:HOST, network:*.DOMAIN, filesystem:/PATH and filesystem:/PATH:ro"
}
