package capture

import (
	"net/http"
	"testing"
)

// BenchmarkStore takes requests with ten steps each, and keeps them.
func BenchmarkStore(b *testing.B) {
	for _, c := range []struct {
		name  string
		steps int
	}{
		{"alone", 0},
		{"traced", 10},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := NewStore(Options{ReadsOutput: true})
			header := http.Header{"Accept": {"application/json"}}
			b.ReportAllocs()
			for n := range b.N {
				r := request(n, "/users/7")
				r.Sent.Header = header
				s.Begin(r)
				for step := range c.steps {
					s.Signal(Signal{
						Trace:  r.Trace,
						Span:   SpanID{1, byte(step)},
						Parent: r.Span,
						Server: step == 0,
						Query:  query("SELECT id, name FROM users WHERE team_id = $1"),
					})
				}
				answer(s, r, http.StatusOK)
				s.keep(<-s.queue)
			}
		})
	}
}
