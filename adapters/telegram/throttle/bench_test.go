package throttle

import (
	"context"
	"sync"
	"testing"
	"time"
)

// BenchmarkJobs is what a job costs that takes no time itself: 10,000 of them in
// 100 chats, with limits that never make them wait.
func BenchmarkJobs(b *testing.B) {
	const chats, jobs = 100, 10_000
	none := Limit{Burst: 1e9, Every: 1}
	ctx, stop := context.WithCancel(b.Context())
	s := New(Options{Limits: Limits{Global: none, Private: none, Group: none, Hint: none}})
	var running, left sync.WaitGroup
	running.Go(func() { _ = s.Run(ctx) })
	do := func(context.Context, Try) error { return nil }
	done := func(error) { left.Done() }
	b.ReportAllocs()
	for b.Loop() {
		left.Add(jobs)
		for n := range jobs {
			if err := s.Submit(Job{Chat: int64(n % chats), Do: do, Done: done}); err != nil {
				b.Fatal(err)
			}
		}
		left.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/jobs, "µs/job")
	stop()
	running.Wait()
}

// BenchmarkPlan is the same without goroutines, limits included: what deciding
// costs while 1,000 chats wait for the bot's limit.
func BenchmarkPlan(b *testing.B) {
	const chats = 1000
	p := newPlan(Options{})
	now := time.Unix(0, 0)
	for chat := range int64(chats) {
		p.submit(Job{Chat: chat}, now)
	}
	b.ReportAllocs()
	for b.Loop() {
		begun, again := p.next(now)
		for _, j := range begun {
			p.finish(j, nil, Verdict{}, now)
			p.submit(j.Job, now)
		}
		p.take()
		if len(begun) == 0 {
			now = again
		}
	}
}
