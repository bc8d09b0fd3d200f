package schedule

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
)

func zoneNamed(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	check.OK(t, err)
	return z
}

func cronTimes(t testing.TB, expression string, z *time.Location) times {
	t.Helper()
	s, err := timesOf(&Job{When: "cron " + expression, TZ: z.String()}, time.UTC)
	check.OK(t, err)
	return s
}

// stamps are due times as clocks there show them.
func stamps(all []time.Time) []string {
	var shown []string
	for _, at := range all {
		shown = append(shown, at.Format("2006-01-02 15:04 MST"))
	}
	return shown
}

// TestClockChanges has jobs at times that clocks skip, and at such that they show twice.
func TestClockChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, zone, cron, from string
		want                   []string
	}{
		{"skipped", "Europe/Berlin", "30 2 * * *", "2026-03-28T00:00:00Z", []string{
			"2026-03-28 02:30 CET", "2026-03-29 03:00 CEST", "2026-03-30 02:30 CEST"}},
		{"skipped several", "Europe/Berlin", "*/20 2 * * *", "2026-03-28T02:00:00Z", []string{
			"2026-03-29 03:00 CEST", "2026-03-30 02:00 CEST"}},
		{"skipped and just after", "Europe/Berlin", "30 2,3 * * *", "2026-03-28T12:00:00Z", []string{
			"2026-03-29 03:00 CEST", "2026-03-29 03:30 CEST", "2026-03-30 02:30 CEST"}},
		{"at the change", "Europe/Berlin", "0 3 * * *", "2026-03-28T12:00:00Z", []string{
			"2026-03-29 03:00 CEST", "2026-03-30 03:00 CEST"}},
		{"twice", "Europe/Berlin", "30 2 * * *", "2026-10-24T12:00:00Z", []string{
			"2026-10-25 02:30 CEST", "2026-10-26 02:30 CET"}},
		{"twice, some hours", "Europe/Berlin", "0 */2 * * *", "2026-10-24T22:30:00Z", []string{
			"2026-10-25 02:00 CEST", "2026-10-25 04:00 CET"}},
		{"from between", "Europe/Berlin", "30 2 * * *", "2026-10-25T00:45:00Z", []string{"2026-10-26 02:30 CET"}},
		{"from the second one", "Europe/Berlin", "30 2 * * *", "2026-10-25T01:15:00Z", []string{"2026-10-26 02:30 CET"}},
		{"every hour", "Europe/Berlin", "30 * * * *", "2026-10-24T23:00:00Z", []string{
			"2026-10-25 01:30 CEST", "2026-10-25 02:30 CEST", "2026-10-25 02:30 CET", "2026-10-25 03:30 CET"}},
		{"every hour, skipped", "Europe/Berlin", "@hourly", "2026-03-29T00:00:00Z", []string{
			"2026-03-29 03:00 CEST", "2026-03-29 04:00 CEST"}},
		{"half an hour", "Australia/Lord_Howe", "15 2 * * *", "2026-10-03T00:00:00Z", []string{
			"2026-10-04 02:30 +11", "2026-10-05 02:15 +11"}},
		{"half an hour twice", "Australia/Lord_Howe", "45 1 * * *", "2026-04-03T20:00:00Z", []string{
			"2026-04-05 01:45 +11", "2026-04-06 01:45 +1030"}},
		{"no midnight", "America/Sao_Paulo", "0 0 4 11 *", "2018-01-01T00:00:00Z", []string{
			"2018-11-04 01:00 -02", "2019-11-04 00:00 -03"}},
		{"no midnight, daily", "America/Sao_Paulo", "30 0 * * *", "2018-11-03T12:00:00Z", []string{
			"2018-11-04 01:00 -02", "2018-11-05 00:30 -02"}},
		{"no such day", "Pacific/Apia", "0 12 * * *", "2011-12-29T00:00:00Z", []string{
			"2011-12-29 12:00 -10", "2011-12-31 00:00 +14", "2011-12-31 12:00 +14"}},
		{"either day", "UTC", "0 9 13 * 5", "2026-02-12T00:00:00Z", []string{
			"2026-02-13 09:00 UTC", "2026-02-20 09:00 UTC", "2026-02-27 09:00 UTC", "2026-03-06 09:00 UTC", "2026-03-13 09:00 UTC"}},
		{"leap day", "UTC", "0 0 29 2 *", "2097-01-01T00:00:00Z", []string{"2104-02-29 00:00 UTC"}},
		{"Sunday is 0 and 7", "UTC", "0 0 * * 7", "2026-11-21T00:00:00Z", []string{"2026-11-22 00:00 UTC"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			from, err := time.Parse(time.RFC3339, c.from)
			check.OK(t, err)
			s := cronTimes(t, c.cron, zoneNamed(t, c.zone))
			if got := stamps(s.upcoming(from, len(c.want))); !slices.Equal(got, c.want) {
				t.Errorf("%s is due\n%s\nwant\n%s", c.cron, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestAgainstClocks holds two years of several zones against what a clock shows in
// steps of five minutes.
func TestAgainstClocks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z := zoneNamed(t, name)
			s := cronTimes(t, "*/15 * * * 1-5", z)
			from := time.Date(2026, 1, 1, 0, 0, 0, 0, z)
			due := s.next(from.Add(-time.Second))
			for at := from; at.Before(from.AddDate(2, 0, 0)); at = at.Add(5 * time.Minute) {
				weekday := at.Weekday() != time.Saturday && at.Weekday() != time.Sunday
				if is := weekday && at.Minute()%15 == 0; is != due.Equal(at) {
					t.Fatalf("at %s: due %v, next is %s", at, is, due)
				} else if is {
					due = s.next(at)
				}
			}
		})
	}
}

// TestStoredTimesAreReadAsTheyAre has accepted times whose stored form ParseWhen would refuse: validation at
// every look would end these jobs.
func TestStoredTimesAreReadAsTheyAre(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 9, 0, 0, 500, time.UTC)
	s := New(Options{Now: func() time.Time { return now }, Zone: time.UTC})
	longest := "0" + strings.Repeat(",1", 95) + " 0 * * *"
	for _, when := range []string{"in 3660d", longest, "cron 0 0 * * *", "every 1d12h", "@daily"} {
		j := Job{Channel: "c", Text: "t", When: when}
		check.OK(t, s.complete(&j))
		if len(s.Next(&j)) == 0 {
			t.Errorf("%.20s: stored as %.20s, and never due", when, j.When)
		}
	}
	j := Job{When: "cron 0 0 * * *", TZ: "America/New_York", Missed: "skip"} // without a time of creation
	if len(s.Next(&j)) != shown {
		t.Error("a job without a time of creation is never due")
	}
}

// TestEvery counts from when the job was made, whatever clocks do.
func TestEvery(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 10, 25, 0, 30, 20, 123456, time.UTC)
	s, err := timesOf(&Job{When: "every 1h30m", TZ: "Europe/Berlin", CreatedAt: made}, time.UTC)
	check.OK(t, err)
	want := []string{"2026-10-25 03:00 CET", "2026-10-25 04:30 CET"}
	if got := stamps(s.upcoming(made, 2)); !slices.Equal(got, want) {
		t.Errorf("due %v, want %v", got, want)
	}
	if got := s.next(made.Add(-24 * time.Hour)); !got.Equal(made.Truncate(time.Second).Add(90*time.Minute - 24*time.Hour)) {
		t.Errorf("before it was made, when the clock was set back, due at %s", got)
	}
	if got := s.next(s.next(made).Add(-time.Nanosecond)); !got.Equal(s.next(made)) {
		t.Errorf("just before it is due, next is %s", got)
	}
}

// TestBetween finds what came due, and keeps the newest.
func TestBetween(t *testing.T) {
	t.Parallel()
	s := cronTimes(t, "* * * * *", time.UTC)
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct{ minutes, kept, more int }{{0, 0, 0}, {1, 1, 0}, {100, 100, 0}, {101, 100, 1}, {200, 100, 100}, {31 * 24 * 60, 100, 31*24*60 - 100}} {
		now := from.Add(time.Duration(c.minutes) * time.Minute)
		dues, more := s.between(from, now, 100)
		if len(dues) != c.kept || more != c.more || c.kept > 0 && !dues[c.kept-1].Equal(now) {
			t.Errorf("after %d minutes: %d due and %d more", c.minutes, len(dues), more)
		}
	}
}

// TestParseWhen reads what it accepts, and says what that is about all else.
func TestParseWhen(t *testing.T) {
	t.Parallel()
	berlin := zoneNamed(t, "Europe/Berlin")
	now := time.Date(2026, 11, 22, 17, 45, 30, 5, time.UTC) // 18:45 there
	for text, want := range map[string]string{
		"cron 0 9 * * 1-5":             "cron 0 9 * * 1-5",
		"  0  9 * *  mon-fri ":         "cron 0 9 * * mon-fri",
		"@hourly":                      "cron @hourly",
		"cron @daily":                  "cron @daily",
		"at 2026-11-23 09:00":          "at 2026-11-23T09:00:00+01:00",
		"at 2026-11-23T09:00":          "at 2026-11-23T09:00:00+01:00",
		"at 2026-11-23 09:00:07":       "at 2026-11-23T09:00:07+01:00",
		"at 2027-07-01 09:00":          "at 2027-07-01T09:00:00+02:00",
		"at 2026-11-23T09:00:00.2Z":    "at 2026-11-23T09:00:01Z",
		"at 2026-11-23T09:00:00-05:00": "at 2026-11-23T09:00:00-05:00",
		"at 18:46":                     "at 2026-11-22T18:46:00+01:00",
		"at 18:45":                     "at 2026-11-23T18:45:00+01:00",
		"at 2027-10-31 02:30":          "at 2027-10-31T02:30:00+02:00",
		"in 20m":                       "at 2026-11-22T18:05:31Z",
		"in 1d12h":                     "at 2026-11-24T05:45:31Z",
		"every 2h":                     "every 2h",
		"every 1d":                     "every 24h",
		"every 90m":                    "every 1h30m",
		"every 1m1s":                   "every 1m1s",
	} {
		when, err := ParseWhen(text, now, berlin)
		if err != nil || when.String() != want {
			t.Errorf("%q is %q, %v, want %q", text, when, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                               "does not say when",
		"tomorrow":                       "does not say when",
		"cron 0 9 * *":                   "4 fields",
		"cron 61 9 * * *":                "not a cron expression",
		"cron 0 9 30 2 *":                "never comes",
		"@every 1h":                      `use "every"`,
		"@reboot":                        "not a cron expression",
		"cron TZ=UTC 9 * * *":            "zone is a member",
		"at 2026-11-22 18:45":            "is past: it is 2026-11-22 18:45:30 there now",
		"at 2226-11-22 18:45":            "ten years",
		"at 2027-03-28 02:30":            "clocks are put forward",
		"at noon":                        "is not a time",
		"in -5m":                         "not a duration to wait",
		"in 99999999999d":                "not a duration to wait",
		"every 59s":                      "between a minute",
		"every 60.5s":                    "between a minute",
		"every 367d":                     "between a minute",
		"every 1d25h":                    "between a minute",
		strings.Repeat("0 9 * * 1,", 99): "longer than",
	} {
		_, err := ParseWhen(text, now, berlin)
		wrong := (*InvalidError)(nil)
		if !errors.As(err, &wrong) || wrong.Field != "when" || !strings.Contains(wrong.Text, want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestMissedRules has each of them judge an occurrence by how late it is.
func TestMissedRules(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 11, 20, 0, 0, time.UTC)
	for _, c := range []struct {
		rule       string
		after      time.Duration
		send, late bool
	}{
		{"skip", 0, true, false}, {"skip", 2 * time.Minute, true, false}, {"skip", 2*time.Minute + 1, false, false},
		{"once", time.Second, true, false}, {"once", 1000 * time.Hour, true, true},
		{"within 30m", time.Minute, true, false}, {"within 30m", 30 * time.Minute, true, true}, {"within 30m", 30*time.Minute + 1, false, false},
	} {
		due := now.Add(-c.after)
		all, err := classify([]time.Time{due.Add(-time.Hour), due}, 7, now, c.rule)
		check.OK(t, err)
		old, v := all[0], all[1]
		if old.Outcome != Missed || !strings.Contains(old.Why, "7 earlier ones") {
			t.Errorf("%s: the older one is %+v", c.rule, old)
		}
		if (v.Outcome == Sent) != c.send || v.Late != c.late || (v.Why == "") != c.send {
			t.Errorf("%s after %s: %+v", c.rule, c.after, v)
		}
	}
	for _, text := range []string{"", "twice", "within", "within 1m", "within 5", "within 400d"} {
		if _, err := parseMissed(text); err == nil || !strings.Contains(err.Error(), `"skip"`) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzParseWhen: what is accepted is due later, and is read again as the same.
func FuzzParseWhen(f *testing.F) {
	for _, text := range []string{
		"cron 0 9 * * 1-5", "@hourly", "*/5 1-3,7 ? jan-mar *", "at 2026-11-23 09:00", "at 18:30", "in 20m", "every 1d12h", "at 2026-11-23T09:00:00+01:00",
		"0 0 29 2 *", "cron 0 0 31 4,6 *", "every 1h", "cron 59 23 * * 7",
	} {
		f.Add(text, int64(1790000000))
	}
	berlin := zoneNamed(f, "Europe/Berlin")
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		now := time.Unix(unix%(1<<33), 0).UTC()
		when, err := ParseWhen(text, now, berlin)
		if err != nil {
			if wrong := (*InvalidError)(nil); !errors.As(err, &wrong) || wrong.Text == "" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		s, err := timesOf(&Job{When: when.String(), TZ: "Europe/Berlin", CreatedAt: now}, time.UTC)
		if err != nil {
			t.Fatalf("%q became %q: %v", text, when, err)
		}
		first := s.next(now)
		if !first.After(now) || first.Nanosecond() != 0 || s.String() != when.String() {
			t.Errorf("%q at %s is %q, first due %s", text, now, when, first)
		}
		if second := s.next(first); !second.IsZero() && !second.After(first) {
			t.Errorf("%q is due %s, then %s", text, first, second)
		}
	})
}
