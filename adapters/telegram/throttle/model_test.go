package throttle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// A world plays owners and the other side of a plan at random, in a time of its
// own, and checks each step of the plan by rules of its own.
type world struct {
	t     *testing.T
	rnd   *rand.Rand
	p     *plan
	o     Options
	now   time.Time
	chats int
	calm  bool      // all succeeds from now on
	down  time.Time // nothing is answered before

	sends   []*send // all that was submitted
	flying  []*send
	called  *send // by its Do
	waiting int   // durable ones that have not ended

	held     map[int64]time.Time
	heldAll  time.Time
	silent   time.Time // when the last failure of an outage was known, zero: there is none
	probe    *send
	requests map[string][]time.Time // when jobs began, by what is limited
}

// A send is what the world knows of a job.
type send struct {
	Job
	job       *job // of the plan, once begun
	number    int
	submitted time.Time
	begun     int
	running   bool
	outage    bool // begun in one
	lands     time.Time
	tries     int // that count
	after     time.Time
	fatal     error // what it ends with, if it was refused for good
	told      int
	ended     error
}

func (s *send) String() string {
	return fmt.Sprintf("%v %d of chat %d, lane %d, key %q", s.Class, s.number, s.Chat, s.Lane, s.Key)
}

var (
	errAgain = errors.New("again")
	errNever = errors.New("never")
)

// TestRandomTraffic lets everything be submitted and fail at random. Whatever
// happens: order is kept in each lane, no limit is exceeded in any span of time,
// nothing is sent while the other side wants nothing, nothing that must arrive is
// lost or starved, nothing runs twice that must not, and each end is told once.
// LIVES and LIVES_FROM in the environment say how many times, and from which seed
// on.
func TestRandomTraffic(t *testing.T) {
	t.Parallel()
	lives := 100
	if n, err := strconv.Atoi(os.Getenv("LIVES")); err == nil {
		lives = n
	}
	from, _ := strconv.Atoi(os.Getenv("LIVES_FROM"))
	for seed := from; seed < from+lives; seed++ {
		w := newWorld(t, uint64(seed))
		for range 400 {
			w.act()
		}
		w.calm = true
		w.down = w.now
		w.settle()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func newWorld(t *testing.T, seed uint64) *world {
	rnd := rand.New(rand.NewPCG(seed, 7))
	limit := func() Limit {
		return Limit{Burst: 1 + rnd.IntN(5), Every: time.Duration(1+rnd.IntN(2000)) * time.Millisecond}
	}
	global := Limit{Burst: 1 + rnd.IntN(10), Every: time.Duration(1+rnd.IntN(100)) * time.Millisecond}
	w := &world{
		t: t, rnd: rnd, now: time.Unix(1e9, 0), chats: 1 + rnd.IntN(12),
		held: map[int64]time.Time{}, requests: map[string][]time.Time{},
		o: Options{
			Limits:   Limits{Global: global, Private: limit(), Group: limit(), Hint: limit()},
			InFlight: 1 + rnd.IntN(16), MaxProgress: 1 + rnd.IntN(5), Random: rnd.Float64,
			Durable: Bounds{Tries: 1 + rnd.IntN(6)},
		},
	}
	w.down = w.now
	w.p = newPlan(w.o)
	w.o = w.p.o
	return w
}

// act does one thing, or lets time pass.
func (w *world) act() {
	switch n := w.rnd.IntN(100); {
	case n < 50:
		w.submit()
	case n < 54:
		w.cancel()
	case n < 56:
		w.down = w.now.Add(time.Duration(w.rnd.IntN(30)) * time.Second)
	default:
		w.pass(w.now.Add(time.Duration(w.rnd.IntN(1500)) * time.Millisecond))
	}
	w.step()
}

func (w *world) submit() {
	s := &send{number: len(w.sends), submitted: w.now}
	s.Class = Class(w.rnd.IntN(classes))
	s.Chat = int64(w.rnd.IntN(w.chats))
	s.Group = s.Chat%2 == 0
	s.Lane = w.rnd.IntN(3)
	if s.Class.droppable() {
		s.Key = []string{"", "a", "b", "c"}[w.rnd.IntN(4)]
	}
	s.Do = func(context.Context, Try) error { w.called = s; return nil }
	s.Done = func(err error) { w.told(s, err) }
	w.sends = append(w.sends, s)
	if s.Class == Durable {
		w.waiting++
	}
	w.p.submit(s.Job, w.now)
}

func (w *world) cancel() {
	chat, key := int64(w.rnd.IntN(w.chats)), []string{"a", "b"}[w.rnd.IntN(2)]
	inFlight := w.p.cancel(chat, key, w.now)
	tell(w.p.take())
	for _, s := range w.sends {
		if !s.Class.droppable() || s.Chat != chat || s.Key != key || s.told > 0 {
			continue
		}
		if !s.running || !slices.Contains(inFlight, s.job) {
			w.t.Errorf("%v may still run after it was withdrawn", s)
		}
	}
}

// told checks an end.
func (w *world) told(s *send, err error) {
	s.told++
	s.ended = err
	if s.Class == Durable {
		w.waiting--
	}
	var ok bool
	switch {
	case s.told > 1 || s.running:
	case err == nil:
		ok = s.begun > 0
	case errors.Is(err, ErrReplaced):
		ok = s.Class == Progress && s.begun == 0 && s != w.newest(s)
	case errors.Is(err, ErrDropped), errors.Is(err, ErrCanceled):
		ok = s.Class.droppable() && s.begun == 0
	case errors.Is(err, ErrGaveUp):
		b := w.o.Durable
		ok = !s.Class.droppable() && b.reached(s.tries, w.now.Sub(s.submitted))
	case errors.Is(err, errNever):
		ok = s.fatal != nil
	default:
		ok = s.Class.droppable() && s.begun == 1
	}
	if !ok {
		w.t.Errorf("%v, begun %d times, was told %v, the %d. time", s, s.begun, err, s.told)
	}
}

// newest is the last Progress that was submitted under the same key.
func (w *world) newest(s *send) *send {
	for _, other := range slices.Backward(w.sends) {
		if other.Class == s.Class && other.Chat == s.Chat && other.Key == s.Key {
			return other
		}
	}
	return nil
}

// step asks the plan what begins now, and checks it.
func (w *world) step() time.Time {
	begun, again := w.p.next(w.now)
	tell(w.p.take())
	for _, j := range begun {
		if err := j.Do(w.t.Context(), Try{}); err != nil {
			w.t.Fatal(err)
		}
		w.begins(w.called, j)
	}
	w.idles(again)
	return again
}

// begins checks a job that begins, and makes up what will become of it.
func (w *world) begins(s *send, j *job) {
	switch {
	case s.told > 0 || s.running:
		w.t.Errorf("%v begins after its end, or a second time", s)
	case s.Class.droppable() && s.begun > 0:
		w.t.Errorf("%v is tried again", s)
	case s.Class == Hint && s.submitted != w.now:
		w.t.Errorf("%v begins %v late", s, w.now.Sub(s.submitted))
	case s.Class == Progress && s.Key != "" && s != w.newest(s):
		w.t.Errorf("%v begins, and %v is newer", s, w.newest(s))
	case w.now.Before(w.heldAll), w.now.Before(w.held[s.Chat]), w.now.Before(s.after):
		w.t.Errorf("%v begins before the time that was named, or its delay", s)
	case j.Tried != s.tries:
		w.t.Errorf("%v is told of %d tries, want %d", s, j.Tried, s.tries)
	}
	w.inOrder(s)
	w.inOutage(s)
	w.limited(s)
	s.job, s.running, s.begun = j, true, s.begun+1
	s.lands = w.now.Add(time.Duration(w.rnd.IntN(3000)) * time.Millisecond)
	w.flying = append(w.flying, s)
	if len(w.flying) > w.o.InFlight {
		w.t.Errorf("%d are in flight, want at most %d", len(w.flying), w.o.InFlight)
	}
}

// inOrder checks what else waits and flies in the chat.
func (w *world) inOrder(s *send) {
	for _, other := range w.sends {
		if other == s || other.Chat != s.Chat || other.told > 0 {
			continue
		}
		switch {
		case s.Class == Durable && other.Class == Durable && other.running:
			w.t.Errorf("%v begins beside %v", s, other)
		case s.Class == Durable && other.Class == Durable && other.Lane == s.Lane && other.number < s.number:
			w.t.Errorf("%v begins before %v", s, other)
		case s.Class == Progress && other.Class == Durable && (other.running || other.tries == 0 && w.head(other)):
			w.t.Errorf("%v begins, and %v waits", s, other)
		case s.Class.droppable() && other.Class == s.Class && other.running && (s.Class == Progress || s.Key != "" && s.Key == other.Key):
			w.t.Errorf("%v begins beside %v", s, other)
		}
	}
}

// head reports whether nothing of its lane is before it.
func (w *world) head(s *send) bool {
	return !slices.ContainsFunc(w.sends[:s.number], func(other *send) bool {
		return other.told == 0 && other.Class == Durable && other.Chat == s.Chat && other.Lane == s.Lane
	})
}

func (w *world) inOutage(s *send) {
	s.outage = !w.silent.IsZero()
	if !s.outage {
		return
	}
	if w.probe != nil || w.now.Sub(w.silent) < w.o.FirstDelay || s.Class == Hint {
		w.t.Errorf("%v begins %v after nothing was answered, beside %v", s, w.now.Sub(w.silent), w.probe)
	}
	w.probe = s
}

// limited checks that no limit is exceeded in any span of time that ends now.
func (w *world) limited(s *send) {
	w.counts("all", w.o.Limits.Global, s)
	limit := w.o.Limits.Private
	if s.Group {
		limit = w.o.Limits.Group
	}
	switch s.Class {
	case Hint:
		w.counts(fmt.Sprint("hints of ", s.Chat), w.o.Limits.Hint, s)
	default:
		w.counts(fmt.Sprint("chat ", s.Chat), limit, s)
	}
}

func (w *world) counts(what string, l Limit, s *send) {
	w.requests[what] = append(w.requests[what], w.now)
	all := w.requests[what]
	for i, from := range all {
		if n, most := len(all)-i, l.Burst+int(w.now.Sub(from)/l.Every); n > most {
			w.t.Errorf("%v is number %d of %s in %v, want at most %d", s, n, what, w.now.Sub(from), most)
			return
		}
	}
}

// idles checks that nothing is left that could begin, and that the plan wants to
// be asked again while something waits and nothing flies.
func (w *world) idles(again time.Time) {
	if !again.IsZero() && !again.After(w.now) {
		w.t.Errorf("asked at once again: %v", again.Sub(w.now))
	}
	s := w.p.snapshot(w.now)
	waits := 0
	for _, n := range s.Waiting {
		waits += n
	}
	if waits > 0 && s.InFlight == 0 && again.IsZero() {
		w.t.Fatalf("%d wait, and nothing will wake them", waits)
	}
	if !w.p.open(w.now) {
		return
	}
	for _, c := range w.p.chats {
		turn, ready, _ := c.due(w.now)
		if ready && w.p.room(turn) && !w.p.tokenAt(turn).After(w.now) {
			w.t.Errorf("chat %d could begin something", c.id)
		}
	}
}

// pass lets time pass: what flies lands, and the plan is asked when it wants to.
func (w *world) pass(until time.Time) {
	for again := w.step(); !w.t.Failed(); again = w.step() {
		next := until
		landing := w.landing()
		if landing != nil && landing.lands.Before(next) {
			next = landing.lands
		}
		if !again.IsZero() && again.Before(next) {
			next = again
		}
		w.now = next
		switch {
		case landing != nil && !landing.lands.After(next):
			w.land(landing)
		case !next.Before(until):
			return
		}
	}
}

func (w *world) landing() *send {
	if len(w.flying) == 0 {
		return nil
	}
	return slices.MinFunc(w.flying, func(a, b *send) int { return a.lands.Compare(b.lands) })
}

// land ends a try.
func (w *world) land(s *send) {
	w.flying = slices.DeleteFunc(w.flying, func(other *send) bool { return other == s })
	s.running = false
	v, err := w.outcome(s)
	if v.Kind != Wait || err == nil {
		s.tries++
	}
	w.silence(s, err, v)
	if err != nil {
		w.refused(s, v)
	}
	w.p.finish(s.job, err, v, w.now)
	tell(w.p.take())
	if err == nil && s.told == 0 {
		w.t.Errorf("%v was sent, and nobody told", s)
	}
}

func (w *world) outcome(s *send) (Verdict, error) {
	span := time.Duration(1+w.rnd.IntN(20_000)) * time.Millisecond
	if w.now.Before(w.down) {
		return Verdict{Global: true, Ambiguous: w.rnd.IntN(2) == 0}, errAgain
	}
	switch n := w.rnd.IntN(100); {
	case w.calm || n < 75:
		return Verdict{}, nil
	case n < 81:
		return Verdict{Ambiguous: true}, errAgain
	case n < 87:
		s.fatal = errNever
		return Verdict{Kind: Permanent}, errNever
	case n < 93:
		return Verdict{Kind: Wait, For: span}, errAgain
	case n < 96:
		return Verdict{Kind: Wait, For: span, Global: true}, errAgain
	}
	return Verdict{Global: true}, errAgain
}

// silence follows outages.
func (w *world) silence(s *send, err error, v Verdict) {
	probed := w.probe == s
	if probed {
		w.probe = nil
	}
	switch {
	case err == nil || v.Kind != Retry || !v.Global:
		w.silent, w.probe = time.Time{}, nil
	case probed || w.silent.IsZero():
		w.silent = w.now
	}
}

// refused notes before when nothing may be sent.
func (w *world) refused(s *send, v Verdict) {
	switch until := w.now.Add(v.For); {
	case v.Kind == Retry:
		s.after = w.now.Add(w.o.FirstDelay)
	case v.Kind == Permanent:
	case v.Global:
		w.heldAll = later(w.heldAll, until)
	default:
		w.held[s.Chat] = later(w.held[s.Chat], until)
	}
}

// settle gives the plan time enough for all that waits, and checks that it is
// done and nothing remains.
func (w *world) settle() {
	slowest := max(w.o.Limits.Private.Every, w.o.Limits.Group.Every, 3*time.Second) + w.o.Limits.Global.Every
	enough := time.Duration(len(w.sends))*slowest + 2*w.o.MostDelay
	w.pass(w.now.Add(enough))
	for _, s := range w.sends {
		if s.told != 1 {
			w.t.Errorf("%v: told %d times after %v", s, s.told, enough)
		}
	}
	s := w.p.snapshot(w.now)
	if w.waiting != 0 || len(w.p.chats) != 0 || s.InFlight != 0 || s.Waiting != [classes]int{} || !s.Oldest.IsZero() {
		w.t.Errorf("%d wait, %d chats are left, %+v", w.waiting, len(w.p.chats), s)
	}
}
