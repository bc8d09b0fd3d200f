package harness

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/executable"
)

// A Diagnosis is what `bareclaw doctor --json` has printed.
type Diagnosis struct {
	T        testing.TB
	Healthy  bool
	Version  string
	Findings []doctor.Finding
	Raw      string
	status   int
}

// Run runs the program on the machine, and returns what it printed and its status.
func (m *Machine) Run(args ...string) (stdout, stderr string, status int) {
	m.T.Helper()
	i := m.Invoke(nil, args...)
	<-i.Done
	return i.Out.String(), i.Err.String(), i.Cmd.ProcessState.ExitCode()
}

// Doctor has the machine looked at.
func (m *Machine) Doctor(args ...string) *Diagnosis {
	m.T.Helper()
	out, errs, status := m.Run(append([]string{"doctor", "--json"}, args...)...)
	d := &Diagnosis{T: m.T, Raw: out, status: status}
	if err := json.Unmarshal([]byte(out), d); err != nil || errs != "" {
		m.T.Fatalf("doctor --json: %v, status %d\n%s%s", err, status, out, errs)
	}
	if want := map[bool]int{true: 0, false: 1}[d.Healthy]; status != want {
		m.T.Errorf("doctor ended with status %d, want %d\n%s", status, want, out)
	}
	return d
}

// Quick has the machine looked at without a turn.
func (m *Machine) Quick(args ...string) *Diagnosis {
	m.T.Helper()
	return m.Doctor(append(args, "--no-turn")...)
}

// Find returns the finding of that code, nil if there is none.
func (d *Diagnosis) Find(code string) *doctor.Finding {
	for i := range d.Findings {
		if d.Findings[i].Code == code {
			return &d.Findings[i]
		}
	}
	return nil
}

// Tells fails unless there is a finding of that level and code whose sentence has the
// parts. Whatever is not as it should be must say why that matters.
func (d *Diagnosis) Tells(level doctor.Level, code string, parts ...string) *doctor.Finding {
	d.T.Helper()
	f := d.Find(code)
	if f == nil {
		d.T.Errorf("doctor does not tell of %s\n%s", code, d.Raw)
		return &doctor.Finding{}
	}
	if f.Level != level || f.Why == "" || f.Check == "" {
		d.T.Errorf("finding %s is a %s of the check %q with the reason %q, want a %s with a reason", code, f.Level, f.Check, f.Why, level)
	}
	for _, p := range parts {
		if !strings.Contains(f.What+"\n"+f.Command, p) {
			d.T.Errorf("finding %s does not name %q: %s\n%s", code, p, f.What, f.Command)
		}
	}
	return f
}

// Silent fails if there is anything of that code.
func (d *Diagnosis) Silent(codes ...string) {
	d.T.Helper()
	for _, code := range codes {
		if f := d.Find(code); f != nil {
			d.T.Errorf("doctor tells of %s: %s", code, f.What)
		}
	}
}

// Says reports whether a check has found something that is as it should be, with that text.
func (d *Diagnosis) Says(check, part string) bool {
	return slices.ContainsFunc(d.Findings, func(f doctor.Finding) bool {
		return f.Check == check && f.Level == doctor.OK && strings.Contains(f.What, part)
	})
}

// Fine fails unless a check has found only what is as it should be, and said so with
// those parts.
func (d *Diagnosis) Fine(check string, parts ...string) {
	d.T.Helper()
	said := ""
	for _, f := range d.Findings {
		if f.Check != check {
			continue
		}
		said += f.What + "\n"
		if f.Level != doctor.OK {
			d.T.Errorf("check %s: %s %s: %s", check, f.Level, f.Code, f.What)
		}
	}
	for _, p := range parts {
		if !strings.Contains(said, p) {
			d.T.Errorf("check %s does not say %q: %q", check, p, said)
		}
	}
	if said == "" {
		d.T.Errorf("check %s has found nothing\n%s", check, d.Raw)
	}
}

// Write makes a file of the machine.
func (m *Machine) Write(name, text string, mode os.FileMode) string {
	m.T.Helper()
	path := m.Path(name)
	check.OK(m.T, os.MkdirAll(filepath.Dir(path), 0o700))
	check.OK(m.T, executable.Write(path, []byte(text))) // if it is one
	check.OK(m.T, os.Chmod(path, mode))                 // whatever the umask
	return path
}
