package zone

import (
	"testing"
	"time"
)

func TestNamesOfZones(t *testing.T) {
	for name, good := range map[string]bool{"Europe/Berlin": true, "UTC": true, "": false, "Local": false, "../x": false, "Mars/Olympus": false} {
		if _, err := Load(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
	t.Setenv("TZ", "Asia/Tokyo")
	if got := Name(time.Local, time.Now()); got != "Asia/Tokyo" {
		t.Errorf("the zone of TZ is called %q", got)
	}
	t.Setenv("TZ", "") // of the machine, whatever that is
	if got := Name(time.Local, time.Now()); got == "" || got == "Local" {
		t.Errorf("the machine's zone is called %q", got)
	}
	berlin, _ := Load("Europe/Berlin")
	if got := Name(berlin, time.Now()); got != "Europe/Berlin" {
		t.Errorf("Berlin is called %q", got)
	}
}

// TestUse: what the process and its programs read as local is the zone. It runs alone, because it
// changes the process.
func TestUse(t *testing.T) {
	before := time.Local
	t.Setenv("TZ", "UTC")
	defer func() { time.Local = before }()
	if err := Use("America/New_York"); err != nil {
		t.Fatal(err)
	}
	if got := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC).Local().Hour(); got != 8 {
		t.Errorf("noon UTC is %d o'clock", got)
	}
	if err := Use("America/New_York"); err != nil { // as whoever reads the settings again
		t.Errorf("the zone in use is refused: %v", err)
	}
	if Use("nowhere") == nil {
		t.Error("a zone that does not exist was accepted")
	}
}
