package setup

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
	"bareclaw/observe/api"
	"bareclaw/observe/discovery"
)

// TestDoctorOfObservers: doctor tells of observers that have died, do not answer, or share a directory, and the gateway, once
// it runs, tells of dead ones itself.
func TestDoctorOfObservers(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Quick().Fine("observers", "No web app")
	records := discovery.RecordsOf(m.Path("state"))
	dead, err := discovery.Own("dead")
	check.OK(t, err)
	dead.Start++
	dead.Dir = m.Path("work")
	check.OK(t, records.Write(dead))
	m.Quick().Tells(doctor.Warning, "observer_dead", m.Path("work"), "bareclaw start")

	mute, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	defer func() { _ = mute.Close() }()
	link := m.Path("link")
	check.OK(t, os.Symlink(m.Path("work"), link))
	for id, dir := range map[string]string{"one": m.Path("work"), "two": link} {
		r, err := discovery.Own(id) // this process stands for the observer
		check.OK(t, err)
		r.Dir = dir
		r.Port = mute.Addr().(*net.TCPAddr).Port
		check.OK(t, records.Write(r))
	}
	r, err := discovery.Own("ill")
	check.OK(t, err)
	r.Dir = m.Path("ill")
	r.Port = illObserver(t)
	check.OK(t, records.Write(r))
	check.OK(t, os.WriteFile(m.Path("state/observe/bad.json"), []byte("{"), 0o600))
	g := m.Start()
	g.Eventually("the gateway has told of the dead one", func() bool { return records.IsTold(&dead) })
	g.Eventually("the gateway says what is wrong", func() bool { return len(g.Must("GET", "/health", nil, 200).JSON["problems"].([]any)) == 5 })
	d := m.Quick()
	d.Tells(doctor.Warning, "observer_silent", "one", "has not answered within 1s", "bareclaw observe stop")
	d.Tells(doctor.Warning, "observer_impaired", "ill", "The disk is full.")
	d.Tells(doctor.Warning, "observers_in_one_directory", "2 observers", "one, two")
	d.Tells(doctor.Warning, "observer_record_unreadable", "bad.json", "remove it")
	d.Silent("observer_dead", "gateway_unwell")
	check.OK(t, errors.Join(records.Remove("one"), records.Remove("two"), records.Remove("ill"), os.Remove(m.Path("state/observe/bad.json"))))
	g.Eventually("all is well", func() bool { return g.Must("GET", "/health", nil, 200).Str("status") == "ok" })
	m.Quick().Fine("observers", "No web app")
}

// illObserver serves the API of an observer with a problem of its own, and returns the port.
func illObserver(t *testing.T) int {
	t.Helper()
	routes := http.NewServeMux()
	for path, answer := range map[string]string{
		api.PathFindings:    `{"findings":[],"tallies":[]}`,
		api.PathMetricsLive: `{"endpoints":[],"totals":{}}`,
		api.PathStatus:      `{"problems":["The disk is full."]}`,
	} {
		routes.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
	}
	server := httptest.NewServer(routes)
	t.Cleanup(server.Close)
	return server.Listener.Addr().(*net.TCPAddr).Port
}
