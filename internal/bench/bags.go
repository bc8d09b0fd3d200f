package main

import (
	"context"
	"path/filepath"
	"strconv"
	"time"
)

// bagRequests measures requests of MCP to a server that offers very many tools: for all of them, for those of a
// bag, and for what a request takes.
func bagRequests(ctx context.Context, l *lab, t target) ([]figure, error) {
	dir := filepath.Join(l.dir, "many")
	measure := func(ctx context.Context, s *server) ([]figure, error) { return s.bagRequests(ctx, dir) }
	return served(instant, measure)(ctx, l, t.with("BARECLAW_TOOLS_DIR="+dir))
}

// analyzeIntent is a request whose analysis is kept after the first time.
const analyzeIntent = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"analyze_intent","arguments":{"text":"compare two documents"}}}`

// A repeated request is sent again and again.
type repeated struct {
	path, body string

	size  int // of the answer, in bytes
	times []time.Duration
}

func (s *server) bagRequests(ctx context.Context, dir string) ([]figure, error) {
	c, err := dial(s.addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	all, err := s.makeTools(ctx, c, dir, s.lab.plan.manyTools)
	if err != nil {
		return nil, err
	}
	list := &repeated{path: "/mcp", body: listTools}
	bag := &repeated{path: "/mcp/bags/meta", body: listTools}
	analysis := &repeated{path: "/mcp", body: analyzeIntent}
	for range s.lab.plan.toolRequests {
		for _, r := range []*repeated{list, bag, analysis} { // in turn, so that a busy moment hits all
			if err := s.repeat(c, r); err != nil {
				return nil, err
			}
		}
	}
	many := strconv.Itoa(len(all)) + " tools"
	return []figure{
		ms("bags.all.p50", "tools/list of "+many+", p50", median(list.times)),
		ms("bags.all.p99", "tools/list of "+many+", p99", quantile(list.times, 0.99)),
		ms("bags.list.p50", "tools/list of a bag of these, p50", median(bag.times)),
		ms("bags.list.p99", "tools/list of a bag of these, p99", quantile(bag.times, 0.99)),
		kib("bags.all.size", "tools/list of "+many+", size", list.size),
		kib("bags.list.size", "tools/list of a bag of these, size", bag.size),
		ms("bags.analysis.p50", "tools/call of analyze_intent, kept, p50", median(analysis.times)),
	}, nil
}

// repeat sends a request once more.
func (s *server) repeat(c *client, r *repeated) error {
	began := time.Now()
	answer, err := s.rpcAt(c, r.path, r.body)
	if err != nil {
		return err
	}
	r.times = append(r.times, time.Since(began))
	r.size = len(answer)
	return nil
}
