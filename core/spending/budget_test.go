package spending

import (
	"testing"
	"time"

	"bareclaw/core"
)

func TestNextDay(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ zone, at, want string }{
		{"UTC", "2026-02-28 23:59:59", "2026-03-01 00:00:00 +0000"},
		{"UTC", "2026-01-01 00:00:00", "2026-01-02 00:00:00 +0000"},
		{"Europe/Berlin", "2026-03-28 12:00:00", "2026-03-29 00:00:00 +0100"}, // a day of 24 hours, the next of 23
		{"Europe/Berlin", "2026-03-29 01:30:00", "2026-03-30 00:00:00 +0200"},
		{"Europe/Berlin", "2026-10-25 00:30:00", "2026-10-26 00:00:00 +0100"},     // of 25
		{"America/Sao_Paulo", "2018-11-03 22:00:00", "2018-11-04 01:00:00 -0200"}, // which has no midnight
		{"America/Sao_Paulo", "2018-02-17 22:00:00", "2018-02-18 00:00:00 -0300"}, // its last hour comes twice
		{"Asia/Beirut", "2026-03-28 23:59:59", "2026-03-29 01:00:00 +0300"},       // no midnight
		{"Pacific/Apia", "2011-12-29 12:00:00", "2011-12-31 00:00:00 +1400"},      // a day that there was not
	} {
		loc, err := time.LoadLocation(row.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.ParseInLocation(time.DateTime, row.at, loc)
		if err != nil {
			t.Fatal(err)
		}
		got := NextDay(at)
		if got.Format("2006-01-02 15:04:05 -0700") != row.want || core.Day(got) == core.Day(at) || core.Day(got.Add(-time.Nanosecond)) != core.Day(at) {
			t.Errorf("day after %s in %s begins %s, want %s", row.at, row.zone, got, row.want)
		}
	}
}
