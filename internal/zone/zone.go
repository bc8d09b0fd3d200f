// Package zone names time zones, and sets the zone of this process.
package zone

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	time.Local = z
	return os.Setenv("TZ", name)
}

// localtime is the link to the file of the machine's zone.
const localtime = "/etc/localtime"

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
	} else if target, err := filepath.EvalSymlinks(localtime); err == nil {
		if _, name, ok := strings.Cut(target, "zoneinfo/"); ok {
			return name
		}
	}
	name, _ := now.In(z).Zone()
	return name
}
