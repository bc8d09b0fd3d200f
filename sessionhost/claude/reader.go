package claude

import (
	"bytes"
	"io"
)

// DefaultLineLimit is the longest line a Reader returns unless told otherwise,
// in bytes.
const DefaultLineLimit = 64 << 20

const (
	startBuffer = 16 << 10 // holds nearly every event
	keepBuffer  = 1 << 20  // a larger buffer is not kept for small lines
)

// A Line is one line of a stream, without its end (LF or CRLF).
type Line struct {
	Bytes   []byte // the line; only its beginning when TooLong
	TooLong bool   // the line was over the limit and its rest is gone
	Size    int64  // its length in bytes
}

// A Reader splits a stream into lines of bounded length. An overlong line is skipped and
// reported. A Reader is not safe for concurrent use.
type Reader struct {
	src   io.Reader
	limit int
	err   error // sticky, from src

	buf        []byte
	start, end int // unread bytes are buf[start:end]
}

// NewReader returns a Reader of r for lines of up to limit bytes; 0 means
// DefaultLineLimit.
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultLineLimit
	}
	return &Reader{src: r, limit: limit}
}

// Next returns the next non-blank line. Its bytes are valid until the following call. A
// last line without newline counts. The error is io.EOF at the end, else the source's.
func (r *Reader) Next() (Line, error) {
	for {
		line, err := r.next()
		if err != nil {
			return Line{}, err
		}
		if line.TooLong || len(bytes.TrimSpace(line.Bytes)) > 0 {
			return line, nil
		}
	}
}

// More reports whether another whole non-blank line is buffered, so that Next would not
// wait.
func (r *Reader) More() bool {
	unread := r.buf[r.start:r.end]
	i := bytes.LastIndexByte(unread, '\n')
	return i >= 0 && len(bytes.TrimSpace(unread[:i])) > 0
}

func (r *Reader) next() (Line, error) {
	r.shrink()
	searched := 0 // bytes after start without a newline
	for {
		if i := bytes.IndexByte(r.buf[r.start+searched:r.end], '\n'); i >= 0 {
			n := searched + i
			line := r.buf[r.start : r.start+n]
			r.start += n + 1
			return whole(line, r.limit), nil
		}
		searched = r.end - r.start
		if searched > r.limit+1 { // room for a CR
			return r.skip()
		}
		if r.err != nil {
			if searched == 0 {
				return Line{}, r.err
			}
			line := r.buf[r.start:r.end]
			r.start = r.end
			return whole(line, r.limit), nil
		}
		r.fill()
	}
}

func whole(line []byte, limit int) Line {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	l := Line{Bytes: line, Size: int64(len(line))}
	if len(line) > limit {
		l.Bytes, l.TooLong = line[:limit], true
	}
	return l
}

// skip drops an overlong line and keeps its head.
func (r *Reader) skip() (Line, error) {
	head := bytes.Clone(r.buf[r.start:min(r.start+1024, r.end)])
	line := Line{Bytes: head, TooLong: true, Size: int64(r.end - r.start)}
	r.start, r.end = 0, 0
	for r.err == nil {
		r.fill()
		chunk := r.buf[:r.end]
		if i := bytes.IndexByte(chunk, '\n'); i >= 0 {
			line.Size += int64(i)
			r.start = i + 1
			return line, nil
		}
		line.Size += int64(len(chunk))
		r.end = 0
	}
	return line, nil
}

// fill reads more, making room first.
func (r *Reader) fill() {
	switch {
	case r.buf == nil:
		r.buf = make([]byte, startBuffer)
	case r.end < len(r.buf):
	case r.start > 0:
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	default:
		grown := make([]byte, min(2*len(r.buf), r.limit+startBuffer))
		copy(grown, r.buf)
		r.buf = grown
	}
	for range 100 {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.err = err
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

// shrink frees the buffer of a giant line.
func (r *Reader) shrink() {
	if r.start < r.end {
		return
	}
	r.start, r.end = 0, 0
	if len(r.buf) > keepBuffer {
		r.buf = nil
	}
}
