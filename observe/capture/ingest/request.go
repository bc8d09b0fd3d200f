package ingest

import (
	"mime"
	"net/http"
	"net/url"
	"unicode/utf8"

	"bareclaw/observe/capture"
)

// sdkBody is how much of a body SDKs send, in characters. They do not say when they have cut one.
const sdkBody = 10_240

// maxID is how long the id of a request may be, in bytes.
const maxID = 128

// request hands on a request. The SDK knows best what is static or a health check.
func (r *Receiver) request(e *event) {
	d := &e.Data
	id := first(d.ID, e.RequestID).text()
	if id == "" || len(id) > maxID || d.IsStatic.yes() || d.IsHealthCheck.yes() {
		return
	}
	sent := message(d.Headers, d.RequestBody)
	received := message(d.ResponseHeaders, d.ResponseBody)
	// The SDK masks these with all their attributes.
	received.Header.Del("Set-Cookie")
	received.Size = int64(d.ResponseSize.count(len(received.Body)))
	evidence := capture.Response
	if !received.Cut && (received.Body != nil || received.Size == 0) {
		evidence |= capture.Body
	}
	method := d.Method.text()
	if method == "" {
		method = http.MethodGet
	}
	request := capture.Request{
		ID:       id,
		Method:   method,
		URL:      pathAndQuery(d.URL.text()),
		Started:  e.began(),
		Took:     e.took(),
		Status:   d.StatusCode.count(http.StatusOK),
		End:      capture.Complete,
		Sent:     sent,
		Received: received,
		Evidence: evidence,
	}
	r.sink.Merge(request)
}

// message returns what is known of a request or a response.
func message(headers, body value) capture.Message {
	m := capture.Message{Header: http.Header{}}
	for name, text := range headers.strings() {
		m.Header.Set(name, text)
	}
	media, _, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err == nil {
		m.Media = media
	}
	text, ok := body.whole()
	if !ok {
		return m
	}
	m.Size = int64(len(text))
	m.Cut = utf8.RuneCountInString(text) >= sdkBody
	if len(text) > capture.MaxBody {
		text = text[:capture.MaxBody]
		m.Cut = true
	}
	m.Body = []byte(text)
	return m
}

// pathAndQuery returns a URL without its scheme and host, which some SDKs send.
func pathAndQuery(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return raw
	}
	return u.RequestURI()
}
