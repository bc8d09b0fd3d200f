package value

import (
	"slices"
	"strings"
)

// A Path is a place within a value; nil is the whole. A Path takes no more memory than its last
// step, so that walking down a deep value is cheap.
type Path struct {
	parent *Path
	name   string
}

// Member returns the path to a member of an object, or to the item of an array with that number.
func (p *Path) Member(name string) *Path { return &Path{p, name} }

// String returns the JSON pointer. Of one with more than 1000 bytes, String returns … and the
// last steps.
func (p *Path) String() string {
	const most = 1000 // bytes
	var steps []string
	for size := 0; p != nil; p = p.parent {
		step := Pointer(p.name)
		if size += len(step); size > most {
			steps = append(steps, "…")
			break
		}
		steps = append(steps, step)
	}
	slices.Reverse(steps)
	return strings.Join(steps, "")
}

// Pointer returns the JSON pointer to a member of an object.
func Pointer(name string) string {
	return "/" + strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
