package supervisor

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// links returns both ends of a control socket.
func links(t *testing.T) (ours, theirs *link) {
	t.Helper()
	ours, f, err := newPair()
	check.OK(t, err)
	theirs, err = newLink(f)
	check.OK(t, err)
	t.Cleanup(func() { _, _ = ours.conn.Close(), theirs.conn.Close() })
	return ours, theirs
}

// TestFilesTravelWithTheirMessage sends files with one of several messages.
func TestFilesTravelWithTheirMessage(t *testing.T) {
	t.Parallel()
	a, b := links(t)
	files := map[string]*os.File{}
	for _, name := range []string{"lock", "tcp"} {
		f, err := os.Create(filepath.Join(t.TempDir(), name))
		check.OK(t, err)
		defer func() { _ = f.Close() }()
		if _, err := f.WriteString(name); err != nil {
			t.Fatal(err)
		}
		files[name] = f
	}
	for _, m := range []message{{Kind: msgReady}, {Kind: msgKeep, files: files}, {Kind: msgFailed, Error: "no\nroom"}} {
		check.OK(t, a.write(m))
		got, err := b.read()
		if err != nil || got.Kind != m.Kind || got.Error != m.Error || len(got.files) != len(m.files) {
			t.Fatalf("%+v came as %+v, %v", m, got, err)
		}
		for name, f := range got.files {
			text := make([]byte, len(name))
			if _, err := f.ReadAt(text, 0); err != nil || string(text) != name {
				t.Errorf("file %s has %q, %v", name, text, err)
			}
		}
		closeAll(got.files)
	}
	_ = a.conn.Close()
	if m, err := b.read(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end came %+v, %v", m, err)
	}
}

// TestAwaitReadsNothing: a message that was awaited can still be read.
func TestAwaitReadsNothing(t *testing.T) {
	t.Parallel()
	a, b := links(t)
	go func() { _ = a.write(message{Kind: msgReady}) }() // ends with the test
	b.await()
	b.await()
	if m, err := b.read(); err != nil || m.Kind != msgReady {
		t.Errorf("read %+v, %v", m, err)
	}
	_ = a.conn.Close()
	b.await() // and returns at the end
}

// TestReadRefuses sends what no supervisor and no worker sends.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\xff\xff\xff\xff": "bytes", "\x00\x00\x00\x02no": "invalid", "\x00\x00\x00\x15" + `{"names":["no file"]}`: "0 files", "\x00\x00": "EOF",
	} {
		a, b := links(t)
		if _, err := a.conn.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		_ = a.conn.CloseWrite()
		if m, err := b.read(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is read as %+v, %v; want %q", text, m, err, want)
		}
	}
}
