package ingest

import (
	"encoding/json"
	"strings"
	"time"

	"bareclaw/observe/capture"
)

// sdkSQL is how much of a query's text SDKs send, in characters.
const sdkSQL = 2000

// readQuery returns a query; nil if the data have neither its text nor what stands for it.
func readQuery(data value, o *occurrence) *capture.Query {
	var query struct {
		Source    value `json:"source"` // or driver
		Driver    value `json:"driver"`
		SQL       value `json:"sql"`
		Model     value `json:"model"`
		Operation value `json:"operation"`
		Table     value `json:"table"`
		RowCount  value `json:"rowCount"`
	}
	err := json.Unmarshal(data, &query)
	if err != nil {
		return nil
	}
	text := query.SQL.text()
	if text == "" {
		what := first(query.Model, query.Table).text()
		text = strings.TrimSpace(capture.CutSignalText(query.Operation.text() + " " + what))
	}
	if text == "" {
		return nil
	}
	return &capture.Query{
		At:          o.began(),
		Took:        o.took(),
		System:      system(first(query.Source, query.Driver).text()),
		Text:        text,
		Table:       query.Table.text(),
		ValuesKnown: len(text) < sdkSQL && capture.IsComplete(text),
		Rows:        query.RowCount.count(-1),
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

// readFetch returns an HTTP request of the app.
func readFetch(data value, o *occurrence) *capture.Fetch {
	var fetch struct {
		Method     value `json:"method"`
		URL        value `json:"url"`
		StatusCode value `json:"statusCode"`
	}
	err := json.Unmarshal(data, &fetch)
	if err != nil {
		return nil
	}
	return &capture.Fetch{
		At:     o.began(),
		Took:   o.took(),
		Method: method(fetch.Method),
		URL:    fetch.URL.text(),
		Status: fetch.StatusCode.count(0),
	}
}

// sdk is where a log line comes from.
const sdk = "sdk"

// readLog returns a line that the app logged.
func readLog(data value, at time.Time) *capture.Log {
	var line struct {
		Level   value `json:"level"`
		Message value `json:"message"`
	}
	err := json.Unmarshal(data, &line)
	if err != nil {
		return nil
	}
	return &capture.Log{
		At:    at,
		Level: strings.ToLower(line.Level.text()),
		Text:  line.Message.text(),
		From:  sdk,
	}
}

// readAuthCheck returns a check of who somebody is, as a line.
func readAuthCheck(data value, at time.Time) *capture.Log {
	var check struct {
		Provider value `json:"provider"`
		Result   value `json:"result"`
	}
	err := json.Unmarshal(data, &check)
	if err != nil {
		return nil
	}
	return &capture.Log{
		At:    at,
		Level: "info",
		Text:  capture.CutSignalText("auth check by " + check.Provider.text() + ": " + check.Result.text()),
		From:  sdk,
	}
}

// noStack is what Python prints for the stack of an error that has passed.
const noStack = "NoneType: None\n"

// readFault returns an error that the app did not handle.
func readFault(data value, at time.Time) *capture.Fault {
	var fault struct {
		Name    value `json:"name"`
		Message value `json:"message"`
		Stack   value `json:"stack"`
	}
	err := json.Unmarshal(data, &fault)
	if err != nil {
		return nil
	}
	name := fault.Name.text()
	if name == "" {
		name = "Error"
	}
	stack := fault.Stack.text()
	if stack == noStack {
		stack = ""
	}
	return &capture.Fault{
		At:      at,
		Name:    name,
		Message: fault.Message.text(),
		Stack:   stack,
	}
}
