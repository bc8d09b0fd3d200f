package value

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"0", "-0", 0},
		{"0.000", "0e5", 0},
		{"1", "1.0", 0},
		{"1", "10e-1", 0},
		{"1e2", "100", 0},
		{"120", "1.2E+2", 0},
		{"0.001", "1e-3", 0},
		{"9007199254740993", "9007199254740992", 1},
		{"-9007199254740993", "-9007199254740992", -1},
		{"12", "123", -1},
		{"9", "10", -1},
		{"0.1", "0.12", -1},
		{"-1", "1", -1},
		{"-1", "0", -1},
		{"0", "1e-999999999", -1},
		{"1e999999999", "2", 1},
		{"1e99999999999999999999", "1e99999999999999999999", 0},
		{strings.Repeat("9", 1000000), "1e1000000", -1},
	} {
		if got := Compare(json.Number(c.a), json.Number(c.b)); got != c.want {
			t.Errorf("%.20s and %.20s: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := Compare(json.Number(c.b), json.Number(c.a)); got != -c.want {
			t.Errorf("%.20s and %.20s: %d, want %d", c.b, c.a, got, -c.want)
		}
		if same := Key(json.Number(c.a)) == Key(json.Number(c.b)); same != (c.want == 0) {
			t.Errorf("keys of %.20s and %.20s: same is %t", c.a, c.b, same)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[json.Number]bool{"0": true, "-0.0": true, "1.0": true, "1e3": true, "1.5e1": true, "12300": true, "1.5": false, "1e-1": false, "100e-3": false, "1e-999999999": false} {
		if IsInteger(n) != want {
			t.Errorf("%s: integer is %t", n, !want)
		}
	}
	for _, c := range []struct {
		n, unit string
		want    bool
	}{
		{"0", "3", true},
		{"9", "3", true},
		{"-9", "3", true},
		{"10", "3", false},
		{"0.3", "0.1", true},
		{"0.0075", "0.0001", true},
		{"0.00751", "0.0001", false},
		{"4.5", "1.5", true},
		{"1e300", "7", false},
		{"7e999999999", "7", true},
		{"1e-999999999", "1", false},
		{"9007199254740993", "2", false},
		{"12391239123", "1e-8", true},
		{"1.5", "10", false},
		{"20", "5", true},
		{"5", "20", false},
	} {
		if IsMultiple(json.Number(c.n), json.Number(c.unit)) != c.want {
			t.Errorf("%s of %s: multiple is %t", c.n, c.unit, !c.want)
		}
	}
}

func TestEqual(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`null`, `null`, true},
		{`null`, `false`, false},
		{`{"a":[1,{"b":"é"}]}`, `{"a":[1.0,{"b":"\u00e9"}]}`, true},
		{`{"a":1}`, `{"a":1,"b":null}`, false},
		{`{"a":null}`, `{"b":null}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[]`, `{}`, false},
		{`"1"`, `1`, false},
		{`[",",""]`, `["",","]`, false},
		{`[1]`, `1`, false},
		{`1`, `[1]`, false},
	} {
		a, b := read(t, c.a), read(t, c.b)
		if Equal(a, b) != c.want || Equal(b, a) != c.want || (Key(a) == Key(b)) != c.want {
			t.Errorf("%s and %s: equal is %t", c.a, c.b, !c.want)
		}
	}
}

func read(t *testing.T, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPath(t *testing.T) {
	t.Parallel()
	var p *Path
	if p.String() != "" {
		t.Errorf("the whole is %q", p)
	}
	if got := p.Member("a/b").Member("0").Member("").Member("~1").String(); got != "/a~1b/0//~01" {
		t.Error(got)
	}
	for range 1000 {
		p = p.Member(strings.Repeat("x", 100))
	}
	if got := p.Member("last").String(); len(got) > 1010 || !strings.HasPrefix(got, "…/x") || !strings.HasSuffix(got, "/last") {
		t.Errorf("%d bytes: %.20s", len(got), got)
	}
}
