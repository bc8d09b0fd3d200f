package schedule

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// TestScheduleOfAnImpatientClient: whoever asks for the first schedule goes away before the
// disk has it. It is made all the same, and what is listed is sent when it is due.
func TestScheduleOfAnImpatientClient(t *testing.T) {
	m, g := harness.Started(t)
	written := func() time.Time {
		info, err := os.Stat(m.Path("state/ledger.db-wal"))
		check.OK(t, err)
		return info.ModTime()
	}
	disk, before := m.Trace(g.Worker(), "fdatasync,fsync"+harness.Hold60), written()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	body := `{"channel": "ops", "text": "echo look around", "when": "in 2s"}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.Base+"/schedules", strings.NewReader(body))
	check.OK(t, err)
	r.Header.Set("Content-Type", "application/json")
	gone := make(chan error, 1)
	go func() {
		_, err := g.HTTP.Do(r)
		gone <- err
	}()
	m.Eventually("it is on its way to the disk", func() bool { return written().After(before) })
	leave()
	if <-gone == nil {
		t.Fatal("it was answered before the disk had it")
	}
	disk.Detach()
	var listed struct{ Schedules []struct{ ID string } }
	g.Eventually("the schedule is listed", func() bool {
		check.OK(t, json.Unmarshal(g.Must("GET", "/schedules", nil, 200).Body, &listed))
		return len(listed.Schedules) == 1
	})
	o := g.Occurred(listed.Schedules[0].ID)
	if o.Outcome != "sent" {
		t.Errorf("%+v", o)
	}
	g.Outcome(o.Message).Want(t, "look around")
}
