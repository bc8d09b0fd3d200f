package claude

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// DefaultLineLimit is the longest line a Reader returns unless told otherwise,
// in bytes.
const DefaultLineLimit = 64 << 20

const (
	bufferBytes = 16 << 10 // holds nearly every event
	keepBytes   = 1 << 20  // a larger buffer is not kept for small lines
	headBytes   = 1 << 10  // what remains of an overlong line
)

// A Line is one line of a stream, without its end (LF or CRLF).
type Line struct {
	Bytes   []byte // the line; only its beginning when TooLong
	TooLong bool   // the line was over the limit and its rest is gone
}

// A Reader splits a stream into lines of bounded length. An overlong line is skipped and
// reported. A Reader is not safe for concurrent use.
type Reader struct {
	source io.Reader
	idle   waiter        // the source; nil for a source that cannot wait
	src    *bufio.Reader // of the source; nil while a waiter has no input
	limit  int
	long   []byte // a line that the buffer of src does not hold
	err    error  // sticky, from src
}

// buffers are used by Readers whose source has input. Most connections are idle most of the
// time.
var buffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, bufferBytes) }}

// A waiter is a source that waits until its Read would not.
type waiter interface{ AwaitInput() error }

// NewReader returns a Reader of r for lines of up to limit bytes; 0 means
// DefaultLineLimit. A Reader of a source with a method AwaitInput occupies a buffer only
// while there is input.
func NewReader(r io.Reader, limit int) *Reader {
	lines := &Reader{source: r, limit: cmp.Or(limit, DefaultLineLimit)}
	if lines.idle, _ = r.(waiter); lines.idle == nil {
		lines.src = bufio.NewReaderSize(r, bufferBytes)
	}
	return lines
}

// Next returns the next non-blank line. Its bytes are valid until the following call. A
// last line without newline counts. The error is io.EOF at the end, else the source's.
func (r *Reader) Next() (Line, error) {
	for r.err == nil {
		if r.idle != nil && r.unread() == 0 {
			r.releaseBuffer()
			if r.err = r.idle.AwaitInput(); r.err != nil {
				break
			}
			r.src = buffers.Get().(*bufio.Reader)
			r.src.Reset(r.source)
		}
		line := r.next()
		if line.TooLong || len(bytes.TrimSpace(line.Bytes)) > 0 {
			return line, nil
		}
	}
	if r.idle != nil {
		r.releaseBuffer()
	}
	return Line{}, r.err
}

func (r *Reader) unread() int {
	if r.src == nil {
		return 0
	}
	return r.src.Buffered()
}

func (r *Reader) releaseBuffer() {
	if r.src != nil {
		r.src.Reset(nil)
		buffers.Put(r.src)
		r.src = nil
	}
}

// More reports whether another whole non-blank line is buffered, so that Next would not
// wait.
func (r *Reader) More() bool {
	if r.src == nil {
		return false
	}
	unread, _ := r.src.Peek(r.src.Buffered()) // reads nothing
	i := bytes.LastIndexByte(unread, '\n')
	return i >= 0 && len(bytes.TrimSpace(unread[:i])) > 0
}

// next returns the bytes up to the next newline, or to the end of the stream.
func (r *Reader) next() Line {
	if r.long = r.long[:0]; cap(r.long) > keepBytes {
		r.long = nil
	}
	tooLong := false
	for {
		part, err := r.src.ReadSlice('\n')
		if err == nil && len(r.long) == 0 && len(part) <= r.limit {
			return Line{Bytes: trimEnd(part)}
		}
		if r.long = append(r.long, part...); len(trimEnd(r.long)) > r.limit {
			tooLong = true
			r.long = r.long[:min(len(r.long), headBytes)]
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			r.err = err
			return Line{Bytes: trimEnd(r.long), TooLong: tooLong}
		}
	}
}

func trimEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'})
}

// errJSON reports bytes without exactly one JSON value of the expected kind.
var errJSON = errors.New("invalid JSON")

// visitor receives one member of an object: the decoded key and the raw value, valid as
// long as the scanned bytes.
type visitor func(key, value []byte)

// A scanner decodes a byte slice. Scanners come from a pool, because a visitor may scan the
// visited value meanwhile.
type scanner struct {
	jsontext.Decoder
	src bytes.Buffer
}

var scanners = sync.Pool{New: func() any { return new(scanner) }}

// eachField validates b as one JSON object and calls visit for each of its top-level
// members in order, so that the last of duplicate keys wins. It accepts the same bytes as
// encoding/json.Valid, in one pass.
func eachField(b []byte, visit visitor) error {
	s := scanners.Get().(*scanner)
	if len(b) <= keepBytes { // a scanner refers to the last slice
		defer scanners.Put(s)
	}
	s.src = *bytes.NewBuffer(b)
	s.Reset(&s.src, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if s.PeekKind() != '{' {
		return errJSON
	}
	_, _ = s.ReadToken() // peeked
	for s.PeekKind() != '}' {
		quoted, err := s.ReadValue()
		if err != nil {
			return errJSON
		}
		key := keyOf(quoted)
		value, err := s.ReadValue()
		if err != nil {
			return errJSON
		}
		end := s.InputOffset()
		visit(key, b[end-int64(len(value)):end])
	}
	_, _ = s.ReadToken()
	if _, err := s.ReadToken(); !errors.Is(err, io.EOF) {
		return errJSON
	}
	return nil
}

// keyOf returns the decoded key of a quoted one; only an escaped key costs an allocation,
// and claude writes none.
func keyOf(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') >= 0 {
		return []byte(text(quoted))
	}
	return quoted[1 : len(quoted)-1]
}

// text decodes a JSON string, "" for anything else. Like encoding/json it turns invalid
// UTF-8 and lone surrogates into U+FFFD.
func text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	if s := value[1 : len(value)-1]; bytes.IndexByte(s, '\\') < 0 && utf8.Valid(s) {
		return string(s)
	}
	s, _ := jsontext.AppendUnquote(nil, value) // the error reports what was replaced
	return string(s)
}
