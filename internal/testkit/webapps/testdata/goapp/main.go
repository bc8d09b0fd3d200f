// Goapp is a web app with a flaw for each rule. A flaw is there while the file FLAWS has its name.
package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/XSAM/otelsql"
	_ "github.com/lib/pq"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// run serves until a request ends the app.
func run(ctx context.Context) error {
	flush, err := trackRequests(ctx)
	if err != nil {
		return err
	}
	db, err := openDatabase(ctx)
	if err != nil {
		return err
	}
	a := &app{
		db:    db,
		ended: make(chan struct{}),
	}
	server := &http.Server{
		Addr:    net.JoinHostPort("127.0.0.1", os.Getenv("PORT")),
		Handler: otelhttp.NewHandler(a.routes(), "goapp"),
	}
	stopped := make(chan error)
	go func() {
		<-a.ended
		stopped <- errors.Join(server.Shutdown(ctx), flush(ctx), db.Close())
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}

// trackRequests has telemetry sent to where the environment says.
func trackRequests(ctx context.Context) (flush func(context.Context) error, err error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter))
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	return provider.Shutdown, nil
}

// openDatabase returns a database with some items.
func openDatabase(ctx context.Context) (*sql.DB, error) {
	const source = "user=postgres dbname=postgres sslmode=disable" // PGHOST says where
	tracked := []otelsql.Option{otelsql.WithAttributes(semconv.DBSystemNamePostgreSQL)}
	if os.Getenv("VALUES") == "told" {
		tracked = append(tracked, otelsql.WithAttributesGetter(values))
	}
	db, err := otelsql.Open("postgres", source, tracked...)
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, `
		CREATE TABLE IF NOT EXISTS items (id serial PRIMARY KEY, name text, price int);
		CREATE TABLE IF NOT EXISTS settings (theme text);
		INSERT INTO items (name, price) SELECT 'item ' || n, n FROM generate_series(1, 7) n`)
	return db, err
}

// values tells what stands in the place of a query's placeholders.
func values(_ context.Context, _ otelsql.Method, _ string, args []driver.NamedValue) []attribute.KeyValue {
	var all []attribute.KeyValue
	for _, arg := range args {
		name := fmt.Sprintf("db.query.parameter.%d", arg.Ordinal)
		all = append(all, attribute.String(name, fmt.Sprint(arg.Value)))
	}
	return all
}

// An app answers requests.
type app struct {
	db    *sql.DB
	ended chan struct{} // has a value when the app is to end
}

// flawed reports whether the app has a flaw now.
func flawed(name string) bool {
	names, err := os.ReadFile(os.Getenv("FLAWS"))
	if err != nil {
		panic(err)
	}
	return slices.Contains(strings.Split(string(names), "\n"), name)
}

// routes returns the handler of all requests.
func (a *app) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", a.health)
	a.routeQueries(mux)
	routeErrors(mux)
	routeSecurity(mux)
	routeResponses(mux)
	return mux
}

// health ends the app if it has the flaw end; somebody starts it again.
func (a *app) health(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte("well"))
	if !flawed("end") {
		return
	}
	select {
	case a.ended <- struct{}{}:
	default: // is ending
	}
}
