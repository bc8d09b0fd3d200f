package observe

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"bareclaw/internal/exitcode"
	"bareclaw/internal/testkit/check"
	"bareclaw/observe/api"
	"bareclaw/observe/discovery"
)

// peak returns the most memory that a process has had, in MiB.
func peak(t *testing.T, pid int) (mib int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	check.OK(t, err)
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	_, err = fmt.Sscan(after, &mib)
	check.OK(t, err)
	return mib >> 10
}

// TestBigBodiesOfProcesses: 200 MB pass both ways through an observer whose memory hardly grows, also where they look like JSON.
func TestBigBodiesOfProcesses(t *testing.T) {
	f := newFaulty(t)
	r := f.starts()
	f.get(r, "/secret")
	before := peak(t, r.PID)
	sent := io.LimitReader(endless(strings.Repeat("[", 1<<16)), bigSize)
	res, err := http.Post(r.Proxy+"/big", "application/json", sent)
	check.OK(t, err)
	n, err := io.Copy(io.Discard, res.Body)
	check.OK(t, err)
	check.OK(t, res.Body.Close())
	if n != bigSize || res.Header.Get("Got") != fmt.Sprint(bigSize) {
		t.Errorf("%d bytes come, and the app gets %s", n, res.Header.Get("Got"))
	}
	kept := f.latest(r, "POST /big")
	if kept.End != "complete" || kept.ResponseSize != bigSize || kept.ResponseBody == nil || len(*kept.ResponseBody) > 64<<10 {
		t.Errorf("kept is the end %q of %d bytes", kept.End, kept.ResponseSize)
	}
	if grown := peak(t, r.PID) - before; grown > 32 {
		t.Errorf("the observer has grown by %d MiB", grown)
	}
}

// endless reads the same again and again.
type endless string

func (e endless) Read(p []byte) (int, error) { return copy(p, e), nil }

// tell sends telemetry to the observer, and returns the status of the answer and its text.
func (f *faulty) tell(r discovery.Record, media, encoding string, body []byte) (status int, says string) {
	f.T.Helper()
	address := fmt.Sprintf("http://127.0.0.1:%d/v1/traces", r.Port)
	request, err := http.NewRequestWithContext(f.T.Context(), http.MethodPost, address, bytes.NewReader(body))
	check.OK(f.T, err)
	request.Header.Set("Content-Type", media)
	if encoding != "" {
		request.Header.Set("Content-Encoding", encoding)
	}
	res, err := http.DefaultClient.Do(request)
	check.OK(f.T, err)
	text, err := io.ReadAll(res.Body)
	check.OK(f.T, err)
	check.OK(f.T, res.Body.Close())
	return res.StatusCode, string(text)
}

// packed returns what a writer writes, compressed by gzip.
func packed(t *testing.T, write func(w io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	check.OK(t, err)
	check.OK(t, write(z))
	check.OK(t, z.Close())
	return b.Bytes()
}

// querySpans returns spans of queries below a step, as an exporter sends them.
func querySpans(trace, parent []byte, many int) []byte {
	field := func(m []byte, number protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(m, number, protowire.BytesType), value)
	}
	attribute := func(name, value string) []byte {
		return field(field(nil, 1, []byte(name)), 2, field(nil, 1, []byte(value)))
	}
	var scope []byte
	for n := range many {
		span := field(nil, 1, trace)
		span = field(span, 2, fmt.Appendf(nil, "%08x", n+1))
		span = field(span, 4, parent)
		span = protowire.AppendVarint(protowire.AppendTag(span, 6, protowire.VarintType), 3) // a client
		span = field(span, 9, attribute("db.system", "postgresql"))
		span = field(span, 9, attribute("db.statement", fmt.Sprintf("SELECT name FROM items WHERE id = %d", n)))
		scope = field(scope, 2, span)
	}
	return field(nil, 1, field(nil, 2, scope))
}

// named sends a request, and returns the trace and the step that its app is told of, and the id.
func (f *faulty) named(r discovery.Record) (trace, span []byte, id string) {
	f.T.Helper()
	var parent string
	_, err := fmt.Sscan(f.get(r, "/named"), &parent, &id)
	check.OK(f.T, err)
	parts := strings.Split(parent, "-")
	if len(parts) != 4 {
		f.T.Fatalf("the app is told of %q", parent)
	}
	trace, err = hex.DecodeString(parts[1])
	check.OK(f.T, err)
	span, err = hex.DecodeString(parts[2])
	check.OK(f.T, err)
	return trace, span, id
}

// TestHostileTelemetry: what an observer does not take is refused, in bounded memory, and it goes on; of 100,000 spans it keeps
// what it has room for.
func TestHostileTelemetry(t *testing.T) {
	const (
		protobuf = "application/x-protobuf"
		asJSON   = "application/json"
		many     = 100_000
	)
	f := newFaulty(t)
	r := f.starts()
	f.get(r, "/secret")
	before := peak(t, r.PID)
	zeros := packed(t, func(w io.Writer) error {
		_, err := io.CopyN(w, endless(strings.Repeat("\x00", 1<<20)), 1<<30)
		return err
	})
	blanks := packed(t, func(w io.Writer) error {
		_, err := io.CopyN(w, endless(strings.Repeat(" ", 1<<20)), 1<<30)
		return err
	})
	deep := []byte(strings.Repeat(`{"resourceSpans":[`, 100_000))
	for name, c := range map[string]struct {
		media    string
		encoding string
		body     []byte
		status   int
	}{
		"rubbish":               {protobuf, "", []byte("\xff\xff\xff\xff\xff\xff\xff"), http.StatusBadRequest},
		"rubbish as JSON":       {asJSON, "", []byte("\x00</system>"), http.StatusBadRequest},
		"9 MiB":                 {protobuf, "", make([]byte, 9<<20), http.StatusRequestEntityTooLarge},
		"9 MiB as JSON":         {asJSON, "", bytes.Repeat([]byte(" "), 9<<20), http.StatusRequestEntityTooLarge},
		"a bomb":                {protobuf, "gzip", zeros, http.StatusRequestEntityTooLarge},
		"a bomb as JSON":        {asJSON, "gzip", blanks, http.StatusRequestEntityTooLarge},
		"deep":                  {asJSON, "", deep, http.StatusBadRequest},
		"ids of a wrong length": {protobuf, "", querySpans([]byte("short"), []byte("longer than it is"), 3), http.StatusOK},
		"ids of zeros":          {protobuf, "", querySpans(make([]byte, 16), make([]byte, 8), 3), http.StatusOK},
	} {
		status, says := f.tell(r, c.media, c.encoding, c.body)
		if status != c.status || says == "" {
			t.Errorf("%s is answered %d: %q", name, status, says)
		}
	}

	trace, span, id := f.named(r)
	spans := querySpans(trace, span, many)
	wire := packed(t, func(w io.Writer) error {
		_, err := w.Write(spans)
		return err
	})
	// Of static files no request is kept: others would take the place of the one that the spans are of.
	l := asks(t, 1, r.Proxy+"/meanwhile.css", func(what string) { t.Error(what) })
	if status, says := f.tell(r, protobuf, "gzip", wire); status != http.StatusOK || says != "" {
		t.Errorf("%d spans are answered %d: %q", many, status, says)
	}
	l.end()
	if l.served.Load() == 0 {
		t.Error("no request is served meanwhile")
	}
	var counts api.Counts
	f.Eventually("the queries are known", func() bool {
		activity, err := client(r).Activity(t.Context(), id)
		check.OK(t, err)
		counts = activity.Counts
		return counts.Queries > 0
	})
	if counts.Queries != 1000 {
		t.Errorf("%d queries are kept", counts.Queries)
	}
	if found := f.finds(r, "n1", "GET /named"); found.Occurrences != 1 {
		t.Errorf("found is %+v", found)
	}
	if grown := peak(t, r.PID) - before; grown > 160 {
		t.Errorf("the observer has grown by %d MiB", grown)
	} else {
		t.Logf("the observer has grown by %d MiB", grown)
	}
	f.Command(exitcode.OK, "observe", "stop")
	f.nobodyIsLeft()
}

// TestFullDisk: where nothing can be written any more, an app is observed, found out and told of as before; what was found is on
// the disk as soon as there is room.
func TestFullDisk(t *testing.T) {
	f := newFaulty(t)
	f.SmallDisk("work", "1m")
	free := f.Fill("work")
	o := f.Invoke(nil, append([]string{"observe", "--", "sh", "-c", loop}, faultyCommand()...)...)
	r := f.answers(0)
	f.isServed(r)
	f.get(r, "/secret")
	f.finds(r, "exposed-secret", "GET /secret")
	f.said(o, "a file cannot be written")
	if s, err := client(r).Status(t.Context()); err != nil || len(s.Problems) != 1 || !strings.Contains(s.Problems[0], "cannot be saved") {
		t.Errorf("its status is %+v, %v", s, err)
	}
	for range 5 {
		f.get(r, "/secret?fixed")
	}
	f.Eventually("it is resolved", func() bool { return f.finds(r, "exposed-secret", "GET /secret").State == "resolved" })
	f.Command(exitcode.OK, "observe", "list").Shows(r.Proxy)
	if text := f.Contents("work/.brakit/findings.json"); text != "" {
		t.Errorf("on the full disk is %q", text)
	}
	free()
	f.Eventually("what was found is on the disk", func() bool {
		return strings.Contains(f.Contents("work/.brakit/findings.json"), `"resolved"`)
	})
	f.said(o, "a file can be written again")
	if s, err := client(r).Status(t.Context()); err != nil || len(s.Problems) != 0 {
		t.Errorf("its status is %+v, %v", s, err)
	}
	f.Command(exitcode.OK, "observe", "stop")
	f.nobodyIsLeft()
}

// TestDiskOfStateIsFull: an observer goes on when its own state cannot be written any more, and follows the app.
func TestDiskOfStateIsFull(t *testing.T) {
	f := newFaulty(t)
	f.SmallDisk("state", "1m")
	r := f.starts()
	free := f.Fill("state")
	defer free()
	for range 2 {
		before := f.pidOf(r)
		_, _ = http.Post(r.Proxy+"/die", "text/plain", nil) // the app is killed
		f.Eventually("the app has started again", func() bool {
			now := f.pidOf(r)
			return now != 0 && now != before
		})
	}
	f.get(r, "/secret")
	f.finds(r, "exposed-secret", "GET /secret")
	f.Command(exitcode.OK, "observe", "stop")
	f.nobodyIsLeft()
}
