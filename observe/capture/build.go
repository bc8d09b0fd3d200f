package capture

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

// build makes the request that is kept: masked, with decompressed bodies.
func build(raw Raw) Request {
	r := raw.Request
	r.URL = cutText(MaskURL(r.URL))
	r.Sent = message(r.Sent, raw.Sent)
	r.Received = message(r.Received, raw.Received)
	r.Evidence = 0
	if r.End != Complete {
		return r
	}
	r.Evidence |= Response
	isBody := r.Status != http.StatusNotModified
	if isBody && r.Received.Body != nil && !r.Received.Cut {
		r.Evidence |= Body
	}
	return r
}

// message masks a message, whose body is added.
func message(m Message, raw RawBody) Message {
	m.Media = cutName(Media(m.Header))
	encoding := m.Header.Get("Content-Encoding")
	m.Header = MaskHeader(m.Header)
	if raw.Bytes == nil {
		return m
	}
	plain, cut, err := decompress(encoding, raw)
	if err != nil || m.Media == "" && !utf8.Valid(withoutCutRune(plain, cut)) {
		return m
	}
	masked := MaskBody(m.Media, plain)
	// What is masked may be longer.
	m.Cut = cut || len(masked) > MaxBody
	m.Body = masked[:min(len(masked), MaxBody)]
	if cap(m.Body) > len(m.Body)+len(m.Body)/8 {
		m.Body = append(make([]byte, 0, len(m.Body)), m.Body...)
	}
	return m
}

// withoutCutRune returns the text without the rune that a cut has gone through.
func withoutCutRune(text []byte, cut bool) []byte {
	if !cut || len(text) < utf8.UTFMax {
		return text
	}
	for i := len(text) - 1; i >= len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			return text[:i]
		}
	}
	return text
}

var errEncoding = errors.New("the body is encoded in a way that is not read")

// decompress returns the beginning of the body, at most MaxBody, and whether there is more. A body that
// was cut on the wire is read as far as it goes.
func decompress(encoding string, raw RawBody) (plain []byte, cut bool, err error) {
	in := bytes.NewReader(raw.Bytes)
	var out io.Reader
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return raw.Bytes, raw.Cut, nil
	case "gzip", "x-gzip":
		out, err = gzip.NewReader(in)
	case "deflate":
		// Some send zlib's form, as the standard says, and some the bare one.
		out, err = zlib.NewReader(in)
		if errors.Is(err, zlib.ErrHeader) {
			in.Reset(raw.Bytes)
			out, err = flate.NewReader(in), nil
		}
	default:
		return nil, false, errEncoding
	}
	if err != nil {
		if len(raw.Bytes) == 0 {
			return raw.Bytes, raw.Cut, nil
		}
		return nil, false, err
	}
	plain, err = io.ReadAll(io.LimitReader(out, MaxBody+1))
	if err != nil && !raw.Cut {
		return nil, false, err
	}
	if len(plain) > MaxBody {
		return plain[:MaxBody], true, nil
	}
	return plain, raw.Cut, nil
}

// Media returns the media type of a message, in lowercase and without parameters.
func Media(header http.Header) string {
	value := header.Get("Content-Type")
	if value == "" {
		return ""
	}
	media, _, _ := strings.Cut(value, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// IsText reports whether bodies of the media type are kept: text, JSON, XML and forms, and what does not
// say what it is. Streams of events have no end, and are not.
func IsText(media string) bool {
	switch media {
	case "text/event-stream":
		return false
	case "", "application/xml", "application/javascript", "application/graphql", "application/x-www-form-urlencoded":
		return true
	case "application/x-ndjson", "application/json-seq", "application/jsonl":
		return true
	}
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "json") || strings.HasSuffix(media, "+xml")
}
