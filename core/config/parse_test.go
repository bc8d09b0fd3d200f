package config

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestSizes(t *testing.T) {
	t.Parallel()
	rows := map[string]int64{
		"1024": 1024, "1048576": 1 << 20, "32MiB": 32 << 20, "32 mib": 32 << 20, "10MB": 10_000_000,
		"2kB": 2000, "1KiB": 1024, "64MiB": 64 << 20, "67MB": 67_000_000, "2000B": 2000,
	}
	for s, want := range rows {
		var got Bytes
		if err := got.Decode(s); err != nil || int64(got) != want {
			t.Errorf("size %q = %d, %v, want %d", s, got, err, want)
		}
	}
}

func FuzzSize(f *testing.F) {
	for _, s := range []string{"32MiB", "10 MB", "9223372036854775807GiB", "-1", "1K", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var n, again Bytes
		err := n.Decode(s)
		if err != nil {
			if n != 0 {
				t.Fatalf("size %q = %d with error %v", s, n, err)
			}
			return
		}
		if n < minBytes || n > maxBytes {
			t.Fatalf("size %q = %d, which is out of range", s, n)
		}
		if err := again.Decode(strconv.FormatInt(int64(n), 10)); err != nil || again != n {
			t.Fatalf("size %q = %d, but that many bytes are %d, %v", s, n, again, err)
		}
	})
}

func FuzzUsers(f *testing.F) {
	for _, s := range []string{"1", "1, 2", "12abc", ",", "9223372036854775808", "+1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var users, again UserIDs
		if users.Decode(s) != nil {
			return
		}
		var entries []string
		for _, user := range users {
			if user < 1 {
				t.Fatalf("users %q let %d in", s, user)
			}
			entries = append(entries, strconv.FormatInt(user, 10))
		}
		err := again.Decode(strings.Join(entries, ","))
		if err != nil || !slices.Equal(again, users) {
			t.Fatalf("users %q = %d, which reads back as %d, %v", s, users, again, err)
		}
	})
}

func FuzzHost(f *testing.F) {
	for _, s := range []string{"localhost", "127.0.0.1", "[::1]", "fe80::1%eth0", "a.b.", "1.2", "a:80", "\x00", "[", "[]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		host, err := parseHost(s)
		if err != nil {
			return
		}
		if !isPrintable(host) || strings.ContainsAny(host, " /[]@?#\"'") && !strings.Contains(host, "%") {
			t.Fatalf("parseHost(%q) = %q", s, host)
		}
		if again, err := parseHost(host); err != nil || again != host {
			t.Fatalf("parseHost(%q) = %q, which reads back as %q, %v", s, host, again, err)
		}
		if addr, err := netip.ParseAddr(host); IsLoopback(host) && host != "localhost" && (err != nil || !addr.Unmap().IsLoopback()) {
			t.Fatalf("%q passes for a loopback address", host)
		}
	})
}

func FuzzTools(f *testing.F) {
	for _, s := range []string{"Read,Bash(git log *)", "Bash(a,b),C", "((,))", "-x", "a,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var rules ToolRules
		if rules.Decode(s) != nil {
			return
		}
		for _, rule := range rules {
			if rule == "" || rule[0] == '-' || !isPrintable(rule) {
				t.Fatalf("rules %q let %q in", s, rule)
			}
		}
	})
}

func TestNearest(t *testing.T) {
	t.Parallel()
	rows := []struct{ name, want string }{
		{"BARECLAW_PROT", "BARECLAW_PORT"},
		{"BARECLAW_TOKEN", ""},
		{"BARECLAW_HTTPTOKEN", "BARECLAW_HTTP_TOKEN"},
		{"BARECLAW_ALLOWED_USER", "BARECLAW_ALLOWED_USERS"},
		{"BARECLAW_SOMETHING_ELSE", ""},
	}
	for _, row := range rows {
		got := unknown([]string{row.name + "=x"})
		if len(got) != 1 || row.want == "" && strings.Contains(got[0], "mean") || !strings.Contains(got[0], row.want) {
			t.Errorf("unknown(%s) = %v, want nearest %q", row.name, got, row.want)
		}
	}
	if got := unknown([]string{"BARECLAW_PORT=1", "BARECLAW_TEST_SOAK=1", "BARECLAW_REQUIRE_CLAUDE=1", "PATH=/", "XBARECLAW_A="}); got != nil {
		t.Errorf("unknown = %v, want none", got)
	}
}
