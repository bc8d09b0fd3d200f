package rules

// Shown is what an example shows to tests of other packages.
type Shown struct {
	Rule       string
	Bad, Fixed *Subject
}

// ShownExamples returns the examples of all rules.
func ShownExamples() []Shown {
	var shown []Shown
	for _, e := range examples() {
		shown = append(shown, Shown{
			Rule:  e.rule,
			Bad:   e.bad,
			Fixed: e.fixed,
		})
	}
	return shown
}
