package core

import (
	"slices"
	"strings"
	"testing"
)

// TestChosen holds what the words of a person answer: options, words of their own, and nothing for
// a number of no option.
func TestChosen(t *testing.T) {
	t.Parallel()
	one := Question{Options: []Option{{Label: "Red"}, {Label: "Blue"}}}
	many := Question{MultiSelect: true, Options: []Option{{Label: "Cheese"}, {Label: "Ham"}, {Label: "8080"}}}
	for _, row := range []struct {
		q     Question
		words string
		want  []string // nil: there is no such option
	}{
		{one, "2", []string{"Blue"}}, {one, " 1 ", []string{"Red"}}, {one, "Red", []string{"Red"}}, {one, "violet", []string{"violet"}},
		{one, "7", nil}, {one, "0", nil}, {one, "-1", nil}, {one, `"7"`, []string{"7"}}, {one, "“7”", []string{"7"}}, {one, `say "7"`, []string{`say "7"`}},
		{one, "1, 2", []string{"1, 2"}}, {one, "7 of them", []string{"7 of them"}}, {one, "1.5", []string{"1.5"}},
		{many, "3, 1,1", []string{"8080", "Cheese"}}, {many, "8080", []string{"8080"}}, {many, "Ham, 1", []string{"Ham", "Cheese"}},
		{many, "1, 4", nil}, {many, "1, olives", []string{"1, olives"}}, {many, "9090", nil},
	} {
		got, err := row.q.Chosen(row.words)
		if !slices.Equal(got, row.want) || (err != nil) != (row.want == nil) {
			t.Errorf("%q answers %q, %v, want %q", row.words, got, err, row.want)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "There is no option ") {
			t.Errorf("%q: %v", row.words, err)
		}
	}
}
