package ingest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"unicode/utf8"

	"bareclaw/observe/capture"
)

// sdkBody is how much of a body SDKs send, in characters. They do not say when they have cut one.
const sdkBody = 10_240

// maxID is how long the id of a request may be, in bytes.
const maxID = 128

// requestData are the data of a request.
type requestData struct {
	ID              value `json:"id"`
	Method          value `json:"method"`
	URL             value `json:"url"`
	StatusCode      value `json:"statusCode"`
	Headers         value `json:"headers"`
	RequestBody     value `json:"requestBody"`
	ResponseHeaders value `json:"responseHeaders"`
	ResponseBody    value `json:"responseBody"`
	ResponseSize    value `json:"responseSize"`
	IsStatic        value `json:"isStatic"`
	IsHealthCheck   value `json:"isHealthCheck"`
}

// request hands on a request. The SDK knows best what is static or a health check.
func (r *Receiver) request(e *event, o *occurrence) {
	var d requestData
	err := json.Unmarshal(e.Data, &d)
	if err != nil || d.IsStatic.yes() || d.IsHealthCheck.yes() {
		return
	}
	id := first(d.ID, e.RequestID).text()
	if id == "" || len(id) > maxID {
		return
	}
	sent := header(d.Headers)
	received := header(d.ResponseHeaders)
	// The SDK masks these with all their attributes.
	received.Del("Set-Cookie")
	request := capture.Request{
		ID:      id,
		Method:  method(d.Method),
		URL:     pathAndQuery(d.URL.text()),
		Started: o.began(),
		Took:    o.took(),
		Status:  d.StatusCode.count(http.StatusOK),
		End:     capture.Complete,
		Sent:    capture.Message{Header: sent},
		Received: capture.Message{
			Header: received,
			Size:   size(d.ResponseSize, received),
		},
	}
	r.sink.End(capture.Raw{
		Request:  request,
		Sent:     rawBody(d.RequestBody, sent),
		Received: rawBody(d.ResponseBody, received),
	})
}

// method returns an HTTP method.
func method(v value) string {
	name := v.text()
	if name == "" {
		return http.MethodGet
	}
	return name
}

// header returns the header of a request or a response. Its body comes decompressed.
func header(headers value) http.Header {
	h := http.Header{}
	for name, text := range headers.strings() {
		h.Set(name, text)
	}
	h.Del("Content-Encoding")
	return h
}

// size returns how large the response's body was. SDKs that have not read it say 0.
func size(told value, received http.Header) int64 {
	n := told.count(0)
	length, err := strconv.ParseInt(received.Get("Content-Length"), 10, 64)
	if n == 0 && err == nil && length > 0 {
		return length
	}
	return int64(n)
}

// rawBody returns a body as far as it was sent. One that was not sent is known to be empty only if
// the header says so.
func rawBody(body value, h http.Header) capture.RawBody {
	text, ok := body.whole()
	if !ok {
		if h.Get("Content-Length") == "0" {
			return capture.RawBody{Bytes: []byte{}}
		}
		return capture.RawBody{}
	}
	isCut := utf8.RuneCountInString(text) >= sdkBody
	if len(text) > capture.MaxBody {
		text = text[:capture.MaxBody]
		isCut = true
	}
	return capture.RawBody{
		Bytes: []byte(text),
		Cut:   isCut,
	}
}

// pathAndQuery returns a URL without its scheme and host, which some SDKs send.
func pathAndQuery(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return raw
	}
	return u.RequestURI()
}
