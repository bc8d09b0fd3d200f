package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/lib/pq"
)

// routeQueries adds what the rules about queries and time look at.
func (a *app) routeQueries(mux *http.ServeMux) {
	mux.HandleFunc("GET /n1", a.n1)
	mux.HandleFunc("GET /redundant-query", a.redundantQuery)
	mux.HandleFunc("GET /query-heavy", a.queryHeavy)
	mux.HandleFunc("GET /select-star", a.selectStar)
	mux.HandleFunc("GET /regression", a.regression)
	mux.HandleFunc("GET /regression/time", pause("regression", 1500*time.Millisecond))
	mux.HandleFunc("GET /slow", pause("slow", 1500*time.Millisecond))
	mux.HandleFunc("GET /cross/{part}", a.cross)
}

// count runs a query to its end, and returns how many rows it has.
func (a *app) count(ctx context.Context, query string, values ...any) int {
	rows, err := a.db.QueryContext(ctx, query, values...)
	if err != nil {
		panic(err)
	}
	defer func() { _ = rows.Close() }()
	n := 0
	for rows.Next() {
		n++
	}
	if err := rows.Err(); err != nil {
		panic(err)
	}
	return n
}

func (a *app) n1(w http.ResponseWriter, r *http.Request) {
	ids := []int{1, 2, 3, 4, 5, 6, 7}
	if !flawed("n1") {
		n := a.count(r.Context(), "SELECT name FROM items WHERE id = ANY($1)", pq.Array(ids))
		answer(w, object{"names": n})
		return
	}
	n := 0
	for _, id := range ids {
		n += a.count(r.Context(), "SELECT name FROM items WHERE id = $1", id)
	}
	answer(w, object{"names": n})
}

func (a *app) redundantQuery(w http.ResponseWriter, r *http.Request) {
	const most = "SELECT max(name) AS most FROM items"
	a.count(r.Context(), most)
	if flawed("redundant-query") {
		a.count(r.Context(), most)
	}
	answer(w, object{})
}

func (a *app) queryHeavy(w http.ResponseWriter, r *http.Request) {
	a.count(r.Context(), "SELECT min(price) FROM items")
	if flawed("query-heavy") {
		for _, function := range []string{"avg", "sum", "max", "count", "variance", "stddev"} {
			a.count(r.Context(), fmt.Sprintf("SELECT %s(price) FROM items", function))
			a.count(r.Context(), fmt.Sprintf("SELECT %s(id) FROM items", function))
		}
	}
	answer(w, object{})
}

func (a *app) selectStar(w http.ResponseWriter, r *http.Request) {
	columns := "name"
	if flawed("select-star") {
		columns = "*"
	}
	answer(w, object{"items": a.count(r.Context(), "SELECT "+columns+" FROM items LIMIT 2")})
}

func (a *app) regression(w http.ResponseWriter, r *http.Request) {
	a.count(r.Context(), "SELECT count(name) FROM items")
	if flawed("usually-slow") {
		time.Sleep(time.Second)
	}
	if flawed("regression") {
		a.count(r.Context(), "SELECT count(price) FROM items")
		a.count(r.Context(), "SELECT sum(id) FROM items")
	}
	answer(w, object{})
}

// pause returns what takes that long with a flaw.
func pause(flaw string, long time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if flawed(flaw) {
			time.Sleep(long)
		}
		answer(w, object{})
	}
}

func (a *app) cross(w http.ResponseWriter, r *http.Request) {
	if flawed("cross-endpoint") {
		a.count(r.Context(), "SELECT theme FROM settings")
	}
	own := map[string]string{
		"a": "SELECT name FROM items WHERE id = 1",
		"b": "SELECT price FROM items WHERE id = 1",
		"c": "SELECT id FROM items WHERE id = 1",
	}
	answer(w, object{"rows": a.count(r.Context(), own[r.PathValue("part")])})
}
