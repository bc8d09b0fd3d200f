package tools

import (
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// AllBag is the bag of all tools.
const AllBag = "all"

// bagPrefix begins the names of bags' views. No tool's name has a colon, so no set of names is one of them.
const bagPrefix = "bag:"

// Bounds of the bags that the user names.
const (
	maxBags     = 100  // bags; the first by name count
	maxPatterns = 1000 // of a bag
	maxPattern  = 128  // bytes
	maxWild     = 100  // patterns of a bag with a star
)

var bagForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) })

var patternForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.*-]+$`) })

// CheckBag returns why the user cannot have a bag with a name and patterns: see CheckPattern.
func CheckBag(name string, patterns []string) error {
	switch {
	case !bagForm().MatchString(name):
		return fmt.Errorf("bag %.80q: a name is 1 to 64 letters, digits and _ -", name)
	case name == AllBag || slices.Contains(Categories(), Category(name)):
		return fmt.Errorf("bag %q is there already: choose another name than those of categories and %s", name, AllBag)
	case len(patterns) > maxPatterns:
		return fmt.Errorf("bag %q has more than %d patterns", name, maxPatterns)
	}
	wild := 0
	for _, p := range patterns {
		if err := CheckPattern(p); err != nil {
			return fmt.Errorf("bag %q: %w", name, err)
		}
		if strings.Contains(p, "*") {
			wild++
		}
	}
	if wild > maxWild {
		return fmt.Errorf("bag %q has more than %d patterns with *", name, maxWild)
	}
	return nil
}

// CheckPattern returns why a text is not a pattern: the name of a tool, in which * stands for any characters, or none.
func CheckPattern(pattern string) error {
	if len(pattern) > maxPattern || !patternForm().MatchString(pattern) {
		return fmt.Errorf("%.150q is not a pattern of names: 1 to %d letters, digits and _ . - *", pattern, maxPattern)
	}
	return nil
}

// Matches reports whether a name is a pattern, in which * stands for any characters, or none, and nothing else is
// special. The time is about that of a look at the name: a text that is found early leaves the most for those that
// follow.
func Matches(pattern, name string) bool {
	begin, pattern, isWild := strings.Cut(pattern, "*")
	if !isWild {
		return name == begin
	}
	rest, ok := strings.CutPrefix(name, begin)
	for ok {
		text, after, more := strings.Cut(pattern, "*")
		if !more {
			return strings.HasSuffix(rest, text)
		}
		_, rest, ok = strings.Cut(rest, text)
		pattern = after
	}
	return false
}

// patterns are what a bag's tools are named. Names without a star are looked up, however many there are.
type patterns struct {
	names map[string]bool
	wild  []string // with a star
}

func compile(all []string) *patterns {
	p := &patterns{names: map[string]bool{}}
	for _, pattern := range all {
		if strings.Contains(pattern, "*") {
			p.wild = append(p.wild, pattern)
		} else {
			p.names[pattern] = true
		}
	}
	return p
}

// match reports whether a name is one of the patterns.
func (p *patterns) match(name string) bool {
	return p.names[name] || slices.ContainsFunc(p.wild, func(w string) bool { return Matches(w, name) })
}

// bags are the bags that the user has named.
type bags struct {
	named func() map[string][]string // nil: there are none
	now   atomic.Pointer[map[string]*patterns]

	reading sync.Mutex // held during read
}

// read makes the user's bags those of now. It leaves out those that are unfit.
func (b *bags) read(log *slog.Logger) {
	b.reading.Lock()
	defer b.reading.Unlock()
	now := map[string]*patterns{}
	defer b.now.Store(&now)
	if b.named == nil {
		return
	}
	all := b.named()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		err := CheckBag(name, all[name])
		if err == nil && len(now) >= maxBags {
			err = fmt.Errorf("bag %q is one more than the %d that there may be", name, maxBags)
		}
		if err != nil {
			log.Warn("bag of tools left out", "err", err)
			continue
		}
		now[name] = compile(all[name])
	}
}

// find returns the patterns of a bag that the user has named; nil: there is no such bag.
func (b *bags) find(name string) *patterns { return (*b.now.Load())[name] }

// BagsChanged reads the bags that the user has named again. Who watches the registry hears of it.
func (r *Registry) BagsChanged() {
	r.bags.read(r.log) // without the lock: who names the bags may have one, and change tools meanwhile
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed()
}

// Bag returns the view of a bag, which is the name of a category, AllBag, or a bag that the user has named.
// The view follows what becomes of the bag. ok is false if there is no such bag.
func (r *Registry) Bag(name string) (v View, ok bool) {
	ok = name == AllBag || slices.Contains(Categories(), Category(name)) || r.bags.find(name) != nil
	return r.bagView(name), ok
}

// bagView returns the view of a bag. It has no tools as long as there is no such bag.
func (r *Registry) bagView(name string) View {
	v := View{Name: bagPrefix + name}
	switch {
	case name == AllBag:
	case slices.Contains(Categories(), Category(name)):
		v.category = Category(name)
	default:
		v.names = func(tool string) bool {
			bag := r.bags.find(name)
			return bag != nil && bag.match(tool)
		}
	}
	return v
}

// Bags returns the names of all bags: those of categories, AllBag, and those that the user has named.
func (r *Registry) Bags() []string {
	names := []string{AllBag}
	for _, c := range Categories() {
		names = append(names, string(c))
	}
	return append(names, slices.Sorted(maps.Keys(*r.bags.now.Load()))...)
}
