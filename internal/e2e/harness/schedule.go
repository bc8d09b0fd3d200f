package harness

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Noon sets a time zone in which no day ends while a test runs.
func Noon() string {
	return fmt.Sprintf("TZ=Etc/GMT%+d", time.Now().UTC().Hour()-12)
}

// ParkedUntil checks that a 202 says why the message waits and until when.
func (g *Gateway) ParkedUntil(a Answer, why string) time.Time {
	g.T.Helper()
	until, err := time.Parse(time.RFC3339, a.Str("until"))
	retry, retryErr := strconv.Atoi(a.Header.Get("Retry-After"))
	if a.Str("state") != "waiting" || !strings.Contains(a.Str("why"), why) || err != nil || !until.After(time.Now()) ||
		a.Header.Get("Location") != "/messages/"+a.Str("message_id") || retryErr != nil || retry < 1 || retry > 300 {
		g.T.Errorf("a message that waits for %q is answered %v %s", why, a.Header, a.Body)
	}
	return until
}

// Due names a moment, from when the daemon hears of it: one by the clock may be past by then.
func Due(in time.Duration) string { return "in " + in.String() }

// Schedule makes a job and returns its id.
func (g *Gateway) Schedule(channel, text, when string, more ...any) string {
	g.T.Helper()
	body := Obj{"channel": channel, "text": text, "when": when}
	for i := 0; i+1 < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return g.Must("POST", "/schedules", body, 201).Str("id")
}

// An Occurrence as GET /schedules/{id} shows it.
type Occurrence struct {
	Due, Outcome, Message, Why string
	Status                     float64
	Late                       bool
}

// Occurrences returns those of a job, newest first.
func (g *Gateway) Occurrences(id string) (all []Occurrence) {
	g.T.Helper()
	list, _ := g.Must("GET", "/schedules/"+id, nil, 200).JSON["occurrences"].([]any)
	for _, e := range list {
		o := Answer{JSON: e.(map[string]any)}
		all = append(all, Occurrence{o.Str("due"), o.Str("outcome"), o.Str("message_id"), o.Str("why"), o.Number("status"), o.Flag("late")})
	}
	return all
}

// Occurred waits for the one occurrence of a job.
func (g *Gateway) Occurred(id string) (o Occurrence) {
	g.T.Helper()
	g.Eventually("schedule "+id+" has an outcome", func() bool {
		all := g.Occurrences(id)
		if len(all) > 1 {
			g.T.Fatalf("schedule %s: %+v", id, all)
		}
		if len(all) == 1 {
			o = all[0]
		}
		return len(all) == 1
	})
	return o
}
