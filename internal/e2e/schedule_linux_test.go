package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// TestScheduleOfAnImpatientClient: whoever asks for the first schedule goes away before the
// disk has it. It is made all the same, and what is listed is sent when it is due.
func TestScheduleOfAnImpatientClient(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	written := func() time.Time {
		info, err := os.Stat(m.path("state/ledger.db-wal"))
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	disk, before := m.trace(g.cmd.Process.Pid, "fdatasync,fsync"+hold60), written()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	body := `{"channel": "ops", "text": "echo look around", "when": "in 2s"}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.base+"/schedules", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	gone := make(chan error, 1)
	go func() {
		_, err := g.http.Do(r)
		gone <- err
	}()
	m.eventually("it is on its way to the disk", func() bool { return written().After(before) })
	leave()
	if <-gone == nil {
		t.Fatal("it was answered before the disk had it")
	}
	disk.detach()
	var listed struct{ Schedules []struct{ ID string } }
	g.eventually("the schedule is listed", func() bool {
		if err := json.Unmarshal(g.must("GET", "/schedules", nil, 200).body, &listed); err != nil {
			t.Fatal(err)
		}
		return len(listed.Schedules) == 1
	})
	o := g.occurred(listed.Schedules[0].ID)
	if o.outcome != "sent" {
		t.Errorf("%+v", o)
	}
	g.outcome(o.message).want(t, "look around")
}
