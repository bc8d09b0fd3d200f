package ingest

import (
	"strings"
	"time"

	"bareclaw/observe/capture"
)

// An event is something that an SDK tells.
type event struct {
	Type      string `json:"type"`
	RequestID value  `json:"requestId"`
	Timestamp value  `json:"timestamp"` // milliseconds since 1970, when the event was told
	Data      data   `json:"data"`
}

// data are the members of all types of events. Names differ between SDKs and their versions.
type data struct {
	ID              value `json:"id"`
	ParentRequestID value `json:"parentRequestId"`
	Timestamp       value `json:"timestamp"`
	Duration        value `json:"duration"`
	DurationMs      value `json:"durationMs"`

	// of requests and fetches
	Method     value `json:"method"`
	URL        value `json:"url"`
	StatusCode value `json:"statusCode"`

	// of requests
	Headers         value `json:"headers"`
	RequestBody     value `json:"requestBody"`
	ResponseHeaders value `json:"responseHeaders"`
	ResponseBody    value `json:"responseBody"`
	ResponseSize    value `json:"responseSize"`
	IsStatic        value `json:"isStatic"`
	IsHealthCheck   value `json:"isHealthCheck"`

	// of queries
	Source    value `json:"source"`
	Driver    value `json:"driver"`
	SQL       value `json:"sql"`
	Model     value `json:"model"`
	Operation value `json:"operation"`
	Table     value `json:"table"`
	RowCount  value `json:"rowCount"`

	// of logs and errors
	Level   value `json:"level"`
	Message value `json:"message"`
	Name    value `json:"name"`
	Stack   value `json:"stack"`

	// of checks of who somebody is
	Provider value `json:"provider"`
	Result   value `json:"result"`
}

// event hands on what an event tells. Types have two names: those of batches with a version, and
// those of batches without one.
func (r *Receiver) event(e *event) {
	signal := capture.Signal{
		Request: first(e.RequestID, e.Data.ParentRequestID).text(),
		At:      e.told(),
	}
	switch e.Type {
	case "request":
		r.request(e)
		return
	case "db.query", "query":
		signal.Query = e.query()
		if signal.Query == nil {
			return
		}
		signal.At = signal.Query.At
	case "fetch":
		signal.Fetch = e.fetch()
		signal.At = signal.Fetch.At
	case "log":
		signal.Log = e.log()
	case "auth.check":
		signal.Log = e.authCheck()
	case "error":
		signal.Fault = e.fault()
	default:
		return
	}
	r.sink.Signal(signal)
}

// earliest is the first time that can be one of this epoch: an SDK in a browser or in Node counts
// from the start of its process.
const earliest = 1e12 // September 2001

// told returns when the event was told.
func (e *event) told() time.Time {
	for _, v := range []value{e.Data.Timestamp, e.Timestamp} {
		n, ok := v.number()
		if ok && n >= earliest && n < 100*earliest {
			return time.UnixMicro(int64(n * 1000))
		}
	}
	return time.Now()
}

// began returns when what the event tells of began: SDKs tell it when it has ended.
func (e *event) began() time.Time { return e.told().Add(-e.took()) }

// took returns how long that took.
func (e *event) took() time.Duration {
	const day = 24 * 60 * 60 * 1000
	n, ok := first(e.Data.Duration, e.Data.DurationMs).number()
	if !ok || n < 0 || n > day {
		return 0
	}
	return time.Duration(n * float64(time.Millisecond))
}

// query returns a query; nil if the event tells neither its text nor what stands for it.
func (e *event) query() *capture.Query {
	d := &e.Data
	text := d.SQL.text()
	if text == "" {
		text = strings.TrimSpace(d.Operation.text() + " " + first(d.Model, d.Table).text())
	}
	if text == "" {
		return nil
	}
	return &capture.Query{
		At:     e.began(),
		Took:   e.took(),
		System: system(first(d.Source, d.Driver).text()),
		Text:   text,
		Table:  d.Table.text(),
		Rows:   d.RowCount.count(-1),
	}
}

// system returns the database that a driver is for, if the driver is for one alone.
func system(driver string) string {
	switch driver {
	case "pg", "asyncpg":
		return "postgresql"
	case "mysql2":
		return "mysql"
	default:
		return driver
	}
}

func (e *event) fetch() *capture.Fetch {
	method := e.Data.Method.text()
	if method == "" {
		method = "GET"
	}
	return &capture.Fetch{
		At:     e.began(),
		Took:   e.took(),
		Method: method,
		URL:    e.Data.URL.text(),
		Status: e.Data.StatusCode.count(0),
	}
}

// sdk is where a log line comes from.
const sdk = "sdk"

func (e *event) log() *capture.Log {
	return &capture.Log{
		At:    e.told(),
		Level: strings.ToLower(e.Data.Level.text()),
		Text:  e.Data.Message.text(),
		From:  sdk,
	}
}

// authCheck returns a check of who somebody is, as a line.
func (e *event) authCheck() *capture.Log {
	return &capture.Log{
		At:    e.told(),
		Level: "info",
		Text:  "auth check by " + e.Data.Provider.text() + ": " + e.Data.Result.text(),
		From:  sdk,
	}
}

// noStack is what Python prints for the stack of an error that has passed.
const noStack = "NoneType: None\n"

func (e *event) fault() *capture.Fault {
	name := e.Data.Name.text()
	if name == "" {
		name = "Error"
	}
	stack := e.Data.Stack.text()
	if stack == noStack {
		stack = ""
	}
	return &capture.Fault{
		At:      e.told(),
		Name:    name,
		Message: e.Data.Message.text(),
		Stack:   stack,
	}
}
