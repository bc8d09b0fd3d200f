package proxy

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const acceptEncodingHeader = "Accept-Encoding"

// readable are the encodings of bodies that are read.
var readable = [...]string{"gzip", "deflate"}

// askReadable has a request ask for a response whose body is read, as far as the client takes that: browsers ask for brotli
// too, and a client that takes nothing that is read gets the body as it is. Where it takes that neither, nothing is changed.
func askReadable(header http.Header) {
	values := header[acceptEncodingHeader]
	if len(values) == 0 {
		return
	}
	a := parseAccept(strings.Join(values, ","))
	if narrowed, ok := a.narrowed(); ok {
		header[acceptEncodingHeader] = []string{narrowed}
	}
}

// An accepted is an encoding that a client takes, or with the weight 0 does not take.
type accepted struct {
	name   string // in lowercase; *: all that are not named
	weight float64
	text   string // as the client has it
}

// An accept is what an Accept-Encoding says (RFC 9110, 12.5.3).
type accept []accepted

func parseAccept(value string) accept {
	var all accept
	for text := range strings.SplitSeq(value, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		name, parameter, _ := strings.Cut(text, ";")
		all = append(all, accepted{
			name:   strings.ToLower(strings.TrimSpace(name)),
			weight: weightOf(parameter),
			text:   text,
		})
	}
	return all
}

// weightOf returns the weight that a parameter "q=0.5" gives; 1: none.
func weightOf(parameter string) float64 {
	name, value, _ := strings.Cut(parameter, "=")
	if !strings.EqualFold(strings.TrimSpace(name), "q") {
		return 1
	}
	weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil {
		return 1
	}
	return weight
}

// weight returns that of an encoding; named: the client names it.
func (a accept) weight(name string) (weight float64, named bool) {
	i := slices.IndexFunc(a, func(e accepted) bool { return e.name == name })
	if i < 0 {
		return 0, false
	}
	return a[i].weight, true
}

// takesIdentity reports whether the client takes a body as it is.
func (a accept) takesIdentity() bool {
	for _, name := range []string{"identity", "*"} {
		if weight, named := a.weight(name); named {
			return weight > 0
		}
	}
	return true
}

// narrowed returns what of it is read, each as the client has it; false: nothing is to be changed.
func (a accept) narrowed() (value string, ok bool) {
	var kept []string
	takes := false
	for _, e := range a {
		isRead := slices.Contains(readable[:], strings.TrimPrefix(e.name, "x-")) || e.name == "identity"
		switch {
		case isRead, e.name == "*" && e.weight == 0:
			kept = append(kept, e.text)
			takes = takes || e.weight > 0
		case e.name == "*":
			for _, name := range a.unnamed() {
				kept = append(kept, name+strings.TrimPrefix(e.text, "*"))
				takes = true
			}
		}
	}
	switch {
	case takes:
	case !a.takesIdentity():
		return "", false
	default:
		kept = append(kept, "identity")
	}
	return strings.Join(kept, ", "), true
}

// unnamed returns what is read and the client does not name.
func (a accept) unnamed() []string {
	isNamed := func(name string) bool {
		_, named := a.weight(name)
		return named
	}
	return slices.DeleteFunc(slices.Clone(readable[:]), isNamed)
}
