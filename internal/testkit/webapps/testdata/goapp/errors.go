package main

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// routeErrors adds what the rules about errors and logs look at.
func routeErrors(mux *http.ServeMux) {
	mux.HandleFunc("GET /error", failIf("error"))
	mux.HandleFunc("GET /error/panic", panicIf("error"))
	mux.HandleFunc("GET /error-hotspot", hotspot)
	mux.HandleFunc("GET /error-info-leak", errorInfo)
	mux.HandleFunc("GET /stack-trace-leak", stackTrace)
	mux.HandleFunc("GET /stack-trace-leak/mended", stackTraceMended)
	mux.HandleFunc("GET /stack-trace-leak/success", stackTraceSuccess)
	mux.HandleFunc("GET /sensitive-logs", logIn)
}

// failIf returns what fails with a flaw, and tells the trace of it.
func failIf(flaw string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !flawed(flaw) {
			answer(w, object{})
			return
		}
		err := errors.New("no item 17")
		span := trace.SpanFromContext(r.Context())
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
		http.Error(w, "Something went wrong.", http.StatusInternalServerError)
	}
}

// panicIf returns what panics with a flaw.
func panicIf(flaw string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if flawed(flaw) {
			panic(errors.New("no item 19"))
		}
		answer(w, object{})
	}
}

func hotspot(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if flawed("error-hotspot") {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	answer(w, object{})
}

func errorInfo(w http.ResponseWriter, _ *http.Request) {
	text := "The id must be a number."
	if flawed("error-info-leak") {
		text = `pq: invalid input syntax for type integer: "x" in: SELECT id FROM items WHERE id = 'x'`
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	answer(w, object{"message": text})
}

// stackTrace answers with an error.
func stackTrace(w http.ResponseWriter, _ *http.Request) {
	text := "There is no such item."
	if flawed("stack-trace-leak") {
		text = string(debug.Stack())
	}
	http.Error(w, text, http.StatusBadRequest)
}

// stackTraceMended answers with an error only with the flaw.
func stackTraceMended(w http.ResponseWriter, r *http.Request) {
	if flawed("stack-trace-leak") {
		stackTrace(w, r)
		return
	}
	answer(w, object{})
}

// stackTraceSuccess answers with a success in any case.
func stackTraceSuccess(w http.ResponseWriter, _ *http.Request) {
	if flawed("stack-trace-leak") {
		answer(w, object{
			"ok":    false,
			"stack": string(debug.Stack()),
		})
		return
	}
	answer(w, object{"ok": true})
}

func logIn(w http.ResponseWriter, _ *http.Request) {
	if flawed("sensitive-logs") {
		slog.Info("login", "password", "correct-horse-battery")
	} else {
		slog.Info("login", "user", 7)
	}
	_, _ = io.WriteString(w, "ok")
}
