package pipe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
)

// A spring is what an outlet of these tests writes: what was added, in order.
type spring struct {
	*Writer
	r *os.File // the other end

	mu     sync.Mutex
	queue  [][]byte
	failed chan error
}

func newSpring(t *testing.T) *spring {
	t.Helper()
	r, w, err := os.Pipe()
	check.OK(t, err)
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	s := &spring{r: r, failed: make(chan error, 10)}
	s.Writer = NewWriter(w, s.take, func(err error) { s.failed <- err })
	return s
}

func (s *spring) take() (p []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 {
		p, s.queue = s.queue[0], s.queue[1:]
	}
	return p, nil
}

func (s *spring) add(p []byte) {
	s.mu.Lock()
	s.queue = append(s.queue, p)
	s.mu.Unlock()
	s.Flush()
}

// TestOutletDoesNotWait adds more than a pipe holds while nobody reads, and reads
// all of it afterwards.
func TestOutletDoesNotWait(t *testing.T) {
	t.Parallel()
	s := newSpring(t)
	var want []byte
	for i, n := range []int{10, 10 << 20, 1, 1 << 20, 70} {
		p := bytes.Repeat([]byte{'a' + byte(i)}, n)
		want = append(want, p...)
		s.add(p) // would block for ever
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(s.r, got); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("what was read is not what was written (%v)", err)
	}
	s.add([]byte("more\n")) // the other end has caught up
	got = make([]byte, 5)
	if _, err := io.ReadFull(s.r, got); err != nil || string(got) != "more\n" {
		t.Errorf("after that %q was read (%v)", got, err)
	}
}

// TestOutletInOrder has a reader that now and then is behind: nothing is lost and
// nothing overtakes.
func TestOutletInOrder(t *testing.T) {
	t.Parallel()
	const lines = 20_000
	s := newSpring(t)
	go func() { // ends below: all of it is read
		for i := range lines {
			s.add(fmt.Appendf(nil, "%8d %s\n", i, bytes.Repeat([]byte{'.'}, i%300)))
		}
	}()
	in := NewReader(s.r)
	_ = s.r.SetReadDeadline(time.Now().Add(time.Minute))
	var all []byte
	for p := make([]byte, 1<<16); bytes.Count(all, []byte{'\n'}) < lines; {
		n, err := in.Read(p)
		check.OK(t, err)
		all = append(all, p[:n]...)
	}
	i := 0
	for line := range bytes.Lines(all) {
		if want := fmt.Sprintf("%8d %s\n", i, bytes.Repeat([]byte{'.'}, i%300)); string(line) != want {
			t.Fatalf("line %d is %q", i, line)
		}
		i++
	}
}

// TestOutletFails closes the other end, while nothing waits and while something
// does: it is told once, and nothing is written any more.
func TestOutletFails(t *testing.T) {
	t.Parallel()
	for _, waiting := range []int{0, 1 << 20} {
		s := newSpring(t)
		s.add(make([]byte, waiting))
		_ = s.r.Close()
		s.add([]byte("lost"))
		if err := <-s.failed; !errors.Is(err, syscall.EPIPE) {
			t.Errorf("error is %v, want EPIPE", err)
		}
		s.add([]byte("lost"))
		if len(s.failed) > 0 {
			t.Errorf("another error is %v", <-s.failed)
		}
	}
}

// TestInlet reads until the end, and until its time is up.
func TestInlet(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	check.OK(t, err)
	defer func() { _ = r.Close() }()
	in := NewReader(r)
	_ = r.SetReadDeadline(time.Now())
	if n, err := in.Read(make([]byte, 10)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d bytes with error %v, want a timeout", n, err)
	}
	_ = r.SetReadDeadline(time.Time{})
	if _, err := io.WriteString(w, "words"); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if b, err := io.ReadAll(in); err != nil || string(b) != "words" {
		t.Errorf("read %q with error %v", b, err)
	}
}
