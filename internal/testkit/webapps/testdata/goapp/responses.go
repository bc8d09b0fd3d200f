package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// An object is one in JSON.
type object map[string]any

// answer answers with JSON.
func answer(w http.ResponseWriter, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

// routeSecurity adds what the rules about security look at.
func routeSecurity(mux *http.ServeMux) {
	mux.HandleFunc("GET /exposed-secret", secret)
	mux.HandleFunc("GET /token-in-url", empty)
	mux.HandleFunc("GET /insecure-cookie", cookie)
	mux.HandleFunc("GET /cors-credentials", cors)
	mux.HandleFunc("GET /response-pii-leak", people)
}

func empty(w http.ResponseWriter, _ *http.Request) { answer(w, object{}) }

func secret(w http.ResponseWriter, _ *http.Request) {
	service := object{"service": "mail"}
	if flawed("exposed-secret") {
		service["apiKey"] = "k3y-of-the-mail-service"
	}
	answer(w, service)
}

func cookie(w http.ResponseWriter, _ *http.Request) {
	c := &http.Cookie{
		Name:  "seen",
		Value: "yes",
	}
	if !flawed("insecure-cookie") {
		c.HttpOnly = true
		c.SameSite = http.SameSiteLaxMode
	}
	http.SetCookie(w, c)
	answer(w, object{})
}

func cors(w http.ResponseWriter, r *http.Request) {
	allowed := "https://app.example.com"
	if flawed("cors-credentials") {
		allowed = r.Header.Get("Origin")
	}
	w.Header().Set("Access-Control-Allow-Origin", allowed)
	w.Header().Set("Access-Control-Allow-Credentials", "true")
	answer(w, object{})
}

func people(w http.ResponseWriter, _ *http.Request) {
	var all []object
	for id := range 3 {
		person := object{"id": id}
		if flawed("response-pii-leak") {
			person["email"] = fmt.Sprintf("p%d@example.com", id)
		}
		all = append(all, person)
	}
	answer(w, object{"people": all})
}

// routeResponses adds what the rules about the size and number of responses look at.
func routeResponses(mux *http.ServeMux) {
	mux.HandleFunc("GET /large-response", large)
	mux.HandleFunc("GET /response-overfetch", overfetch)
	mux.HandleFunc("GET /page", page)
	mux.HandleFunc("GET /api/duplicate", empty)
}

func large(w http.ResponseWriter, _ *http.Request) {
	count := 30
	if flawed("large-response") {
		count = 12_000
	}
	words := make([]object, count)
	for i := range words {
		words[i] = object{"word": "stone"}
	}
	answer(w, words)
}

func overfetch(w http.ResponseWriter, _ *http.Request) {
	fields := 3
	if flawed("response-overfetch") {
		fields = 14
	}
	record := object{}
	for i := range fields {
		record[fmt.Sprintf("field%d", i)] = i
	}
	answer(w, record)
}

func page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, "<title>A page</title>")
}
