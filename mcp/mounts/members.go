package mounts

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/internal/mdtext"
	"bareclaw/internal/typo"
)

// maxMember bounds the name of a member in an error, in UTF-16 units.
const maxMember = 80

// knownMembers returns the members of a server's description that the gateway reads.
var knownMembers = sync.OnceValue(func() (names []string) {
	for field := range reflect.TypeFor[Server]().Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" {
			names = append(names, name)
		}
	}
	return names
})

// valueForms says what the values of members are that may be of another type.
var valueForms = map[string]string{
	"args":     "a list of texts",
	"allow":    "a list of texts",
	"env":      "an object whose values are texts",
	"headers":  "an object whose values are texts",
	"disabled": "true or false",
}

// memberOf returns an error that names the member with a wrong value, without the value.
func memberOf(err error) error {
	semantic := (*jsonv2.SemanticError)(nil)
	if !errors.As(err, &semantic) || semantic.JSONPointer == "" {
		return errors.New("it is not described by an object")
	}
	path := slices.Collect(semantic.JSONPointer.Tokens())
	name := mdtext.Brief(strings.Join(path, "."), maxMember)
	if problem, ok := errors.AsType[*valueError](err); ok {
		return fmt.Errorf("%s: %s", name, problem.text)
	}
	form := "a text"
	if known, ok := valueForms[path[0]]; ok {
		form = known
	}
	return fmt.Errorf("%s has a value of another type: %s is %s", name, mdtext.Brief(path[0], maxMember), form)
}

// misspelt returns sentences about the members of an object that the gateway does not know, and that may be typos of known
// ones. Those of other programs are none.
func misspelt(text jsontext.Value, known []string) (sentences []string) {
	var members map[string]jsontext.Value
	if jsonv2.Unmarshal(text, &members) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		meant := typo.Nearest(name, known)
		if _, used := members[meant]; meant != "" && !used {
			sentences = append(sentences, fmt.Sprintf("it has no member %q; did you mean %q?", mdtext.Brief(name, maxMember), meant))
		}
	}
	return sentences
}

// LeftOut returns what of the file the gateway leaves out though it may be meant for it, in sentences: bags that are none,
// and members whose names are like those of known ones.
func (f *File) LeftOut() []string {
	var all []string
	if text, err := json.Marshal(f.members); err == nil {
		for _, sentence := range misspelt(text, []string{memberServers, memberBags}) {
			all = append(all, "The file: "+sentence)
		}
	}
	for _, name := range f.Names() {
		for _, sentence := range misspelt(f.servers[name], knownMembers()) {
			all = append(all, fmt.Sprintf("The server %q: %s", mdtext.Brief(name, maxMember), sentence))
		}
	}
	return append(all, f.badBags...)
}
