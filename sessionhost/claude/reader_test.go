package claude

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"bareclaw/internal/testkit/check"
)

// readAll returns the lines of a stream: the text, or "too long".
func readAll(t testing.TB, r *Reader) (texts []string) {
	t.Helper()
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return texts
		}
		check.OK(t, err)
		if line.TooLong {
			texts = append(texts, "too long")
			continue
		}
		texts = append(texts, string(line.Bytes))
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	in := "a\r\n\n \t\nbb\n" + long + "\nc\n" + long[:50_000] + "\nlast"
	for name, src := range map[string]io.Reader{
		"whole":    strings.NewReader(in),
		"bytewise": iotest.OneByteReader(strings.NewReader(in)),
		"eof":      iotest.DataErrReader(strings.NewReader(in)),
	} {
		lines := readAll(t, NewReader(src, 50_000))
		if got, want := strings.Join(lines, "|"), "a|bb|too long|c|"+long[:50_000]+"|last"; got != want {
			t.Errorf("%s: got %.60q …", name, got)
		}
	}
}

// TestReaderMore asks whether another line is there: a blank one does not count,
// since Next goes on reading after it.
func TestReaderMore(t *testing.T) {
	t.Parallel()
	for rest, want := range map[string]bool{
		"": false, "b": false, "\n": false, "\r\n \n": false, "\nb": false,
		"b\n": true, "\nb\n": true, "b\nc": true,
	} {
		r := NewReader(strings.NewReader("a\n"+rest), 0)
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		if got := r.More(); got != want {
			t.Errorf("with %q to come, More is %v", rest, got)
		}
	}
}

func TestReaderReportsItsSource(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader("a\nhalf"), iotest.ErrReader(broken)), 0)
	for _, want := range []string{"a", "half"} {
		if line, err := r.Next(); err != nil || string(line.Bytes) != want {
			t.Fatalf("Next() = %q, %v, want %q", line.Bytes, err, want)
		}
	}
	for range 2 {
		if _, err := r.Next(); !errors.Is(err, broken) {
			t.Errorf("err = %v, want the source's", err)
		}
	}
}

func TestReaderGivesMemoryBack(t *testing.T) {
	t.Parallel()
	r := NewReader(strings.NewReader(strings.Repeat("x", 3<<20)+"\nsmall\n"), 0)
	if lines := readAll(t, r); len(lines) != 2 {
		t.Fatalf("%d lines", len(lines))
	}
	if cap(r.long) > keepBytes {
		t.Errorf("the buffer still holds %d bytes", cap(r.long))
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nccc"), 2, false)
	f.Add([]byte("\r\r\n\n"), 1, true)
	f.Fuzz(func(t *testing.T, in []byte, limit int, bytewise bool) {
		if limit < 1 || limit > 1<<16 {
			t.Skip()
		}
		var src io.Reader = bytes.NewReader(in)
		if bytewise {
			src = iotest.OneByteReader(src)
		}
		got := readAll(t, NewReader(src, limit))
		var want []string
		for line := range bytes.SplitSeq(in, []byte{'\n'}) {
			line = bytes.TrimSuffix(line, []byte{'\r'})
			switch {
			case len(line) > limit:
				want = append(want, "too long")
			case len(bytes.TrimSpace(line)) > 0:
				want = append(want, string(line))
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("limit %d: got %q, want %q", limit, got, want)
		}
	})
}
