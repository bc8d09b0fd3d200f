package otlp

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// The media types of OTLP.
const (
	mediaProtobuf = "application/x-protobuf"
	mediaJSON     = "application/json"
)

// The errors of bodies that are too large.
var (
	errLongWire = errors.New("the body has more than 8 MiB; send smaller batches")
	errTooLarge = errors.New("the body has more than 32 MiB after decompression; send smaller batches")
)

// A kind is one of the kinds of data that exporters send.
type kind struct {
	protobuf func(body io.Reader, b *batch) error
	json     func(body io.Reader, b *batch) error
	rejected string // of the answer in JSON: what counts the rejected ones
}

// ServeHTTP answers a request of an exporter, in the encoding of the request.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "send telemetry by POST", http.StatusMethodNotAllowed)
		return
	}
	switch request.URL.Path {
	case "/v1/traces":
		r.take(w, request, kind{
			protobuf: protobufTraces,
			json:     jsonTraces,
			rejected: "rejectedSpans",
		})
	case "/v1/logs":
		r.take(w, request, kind{
			protobuf: protobufLogs,
			json:     jsonLogs,
			rejected: "rejectedLogRecords",
		})
	case "/v1/metrics":
		r.take(w, request, kind{
			protobuf: ignore,
			json:     ignore,
		})
	default:
		http.Error(w, "telemetry is taken at /v1/traces and /v1/logs", http.StatusNotFound)
	}
}

// ignore takes a body without a look at it.
func ignore(body io.Reader, _ *batch) error {
	_, err := io.Copy(io.Discard, body)
	return err
}

// take reads a request and answers it.
func (r *Receiver) take(w http.ResponseWriter, request *http.Request, k kind) {
	media, _, err := mime.ParseMediaType(request.Header.Get("Content-Type"))
	if err != nil || media != mediaProtobuf && media != mediaJSON {
		http.Error(w, "the content type must be "+mediaProtobuf+" or "+mediaJSON, http.StatusUnsupportedMediaType)
		return
	}
	a := answer{
		w:     w,
		media: media,
	}
	wire, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxWire))
	_, long := errors.AsType[*http.MaxBytesError](err)
	if long {
		err = errLongWire
	}
	if err != nil {
		a.fail(refusal(err), err)
		return
	}
	decode := k.protobuf
	if media == mediaJSON {
		decode = k.json
	}
	b := batch{
		sink:    r.sink,
		queries: r.queries,
		fetches: r.fetches,
	}
	err = r.decode(wire, request.Header.Get("Content-Encoding"), func(body io.Reader) error {
		return decode(body, &b)
	})
	if err != nil {
		a.fail(refusal(err), err)
		return
	}
	a.succeed(k.rejected, b.rejected)
}

// decode calls read with the decompressed body.
func (r *Receiver) decode(wire []byte, encoding string, read func(body io.Reader) error) error {
	r.decoding.Lock()
	defer r.decoding.Unlock()
	switch strings.ToLower(encoding) {
	case "", "identity":
		return read(bytes.NewReader(wire))
	case "gzip":
		inflated, err := gzip.NewReader(bytes.NewReader(wire))
		if err != nil {
			return fmt.Errorf("the body is not compressed by gzip: %w", err)
		}
		return read(&bounded{
			reader: inflated,
			left:   maxInflated,
		})
	default:
		return unknownEncoding(encoding)
	}
}

// unknownEncoding is the error for a body that is compressed in another way.
type unknownEncoding string

func (e unknownEncoding) Error() string {
	return fmt.Sprintf("the body is compressed by %q; send it as it is, or by gzip", string(e))
}

// A bounded reader fails after so many bytes.
type bounded struct {
	reader io.Reader
	left   int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	n, err := b.reader.Read(p[:min(len(p), b.left+1)])
	b.left -= n
	if b.left < 0 {
		return n, errTooLarge
	}
	return n, err
}

// refusal returns the status that says what is wrong with a request.
func refusal(err error) int {
	_, encoded := errors.AsType[unknownEncoding](err)
	switch {
	case encoded:
		return http.StatusUnsupportedMediaType
	case errors.Is(err, errLongWire) || errors.Is(err, errTooLarge):
		return http.StatusRequestEntityTooLarge
	default:
		return http.StatusBadRequest
	}
}
