// Package zone names time zones, and sets the zone of this process.
package zone

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones are also known where the system has none, as in a bare container
)

// Load returns the zone with an IANA name, such as Europe/Berlin.
func Load(name string) (*time.Location, error) {
	z, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" { // LoadLocation accepts "" and "Local", which are not IANA names
		return nil, fmt.Errorf("%q is not a time zone", name)
	}
	return z, nil
}

// Use makes a zone the local zone of this process and of the programs it starts. Use belongs at the
// beginning of a process: whatever reads times meanwhile reads them in the earlier zone.
func Use(name string) error {
	z, err := Load(name)
	if err != nil {
		return err
	}
	if time.Local.String() == name { // set already: others may read it now
		return nil
	}
	time.Local = z
	return os.Setenv("TZ", name)
}

// localtime returns the name of the machine's zone, to whose file /etc/localtime is a link; empty if
// unknown. A process keeps the zone that it began with.
var localtime = sync.OnceValue(func() string {
	target, err := filepath.EvalSymlinks("/etc/localtime")
	if err != nil {
		return ""
	}
	_, name, _ := strings.Cut(target, "zoneinfo/")
	return name
})

// Name returns the IANA name of a zone; for the machine's zone whose name is unknown, the
// abbreviation at the time now.
func Name(z *time.Location, now time.Time) string {
	if name := z.String(); name != "Local" {
		return name
	}
	if name := strings.TrimPrefix(os.Getenv("TZ"), ":"); name != "" {
		if _, err := Load(name); err == nil {
			return name
		}
	} else if name := localtime(); name != "" {
		return name
	}
	name, _ := now.In(z).Zone()
	return name
}
