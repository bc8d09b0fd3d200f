package httpapi

import (
	"context"
	"slices"
	"time"

	"bareclaw/core"
	"bareclaw/core/schedule"
)

// A memoryStore keeps jobs for a scheduler that never runs. It fails when the fake does.
type memoryStore struct {
	schedule.Store // what only a scheduler that runs asks for
	fake           *fake
	jobs           []schedule.Job
	decided        []schedule.Occurrence // of every job
}

func (s *memoryStore) AddJob(_ context.Context, j schedule.Job) error {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	s.jobs = append(s.jobs, j)
	return s.fake.err
}

func (s *memoryStore) Jobs(context.Context) ([]schedule.Job, error) {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	return slices.Clone(s.jobs), s.fake.err
}

func (s *memoryStore) Job(_ context.Context, id string) (schedule.Job, error) {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	for _, j := range s.jobs {
		if j.ID == id {
			return j, s.fake.err
		}
	}
	return schedule.Job{}, core.ErrNotFound
}

func (s *memoryStore) RemoveJob(ctx context.Context, id string) error {
	if _, err := s.Job(ctx, id); err != nil {
		return err
	}
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	s.jobs = slices.DeleteFunc(s.jobs, func(j schedule.Job) bool { return j.ID == id })
	return nil
}

func (s *memoryStore) Occurrences(context.Context, string, time.Time, int) ([]schedule.Occurrence, error) {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	return s.decided, s.fake.err
}

func (s *memoryStore) PutOccurrences(_ context.Context, _ string, all []schedule.Occurrence, _ int) error {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	s.decided = slices.Clone(all)
	return s.fake.err
}
