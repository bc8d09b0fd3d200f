package core

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Chosen returns the answers that a person's words stand for: the options with these numbers or
// labels, several of them with commas between them where several may be chosen, or the words
// themselves. Words in quotation marks are never a number. The error tells the person that a number
// is of no option.
func (q Question) Chosen(words string) ([]string, error) {
	words = strings.TrimSpace(words)
	parts := []string{words}
	if q.MultiSelect {
		parts = strings.Split(words, ",")
	}
	var all []string
	own := false // a part is neither a number nor a label
	for _, part := range parts {
		part = strings.TrimSpace(part)
		i := slices.IndexFunc(q.Options, func(o Option) bool { return o.Label == part })
		if n, err := strconv.Atoi(part); i < 0 && err == nil {
			if n < 1 || n > len(q.Options) {
				return nil, &NoOptionError{n, len(q.Options)}
			}
			i = n - 1
		}
		if i < 0 {
			own = true
			continue
		}
		if label := q.Options[i].Label; !slices.Contains(all, label) {
			all = append(all, label)
		}
	}
	if own {
		return []string{unquoted(words)}, nil
	}
	return all, nil
}

// A NoOptionError says that a question has no option with a number.
type NoOptionError struct{ Number, Options int }

// Error tells a person what to do instead.
func (e *NoOptionError) Error() string {
	numbers := "1"
	if e.Options > 1 {
		numbers = fmt.Sprintf("1 to %d", e.Options)
	}
	return fmt.Sprintf("There is no option %d. Choose %s, or answer with words of your own; a number that is the answer itself is written %q.",
		e.Number, numbers, strconv.Itoa(e.Number))
}

// unquoted returns a number without the quotation marks around it. Other words keep theirs.
func unquoted(words string) string {
	inner := strings.Trim(words, "\"'“”„«»")
	if _, err := strconv.Atoi(inner); err == nil {
		return inner
	}
	return words
}
