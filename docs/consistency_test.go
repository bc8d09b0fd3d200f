package docs

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/config"
	"bareclaw/internal/testkit/check"
)

// root is the directory of the module.
const root = ".."

// documents returns every Markdown file of the project.
func documents(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return nil
	})
	check.OK(t, err)
	if len(files) < 5 {
		t.Fatalf("only %d documents were found: %v", len(files), files)
	}
	return files
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	check.OK(t, err)
	return string(b)
}

var (
	fence   = regexp.MustCompile("(?ms)^```.*?^```$")
	code    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
)

// TestLinksLeadSomewhere checks every relative link, with the heading it names.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	links := 0
	for _, file := range documents(t) {
		text := code.ReplaceAllString(fence.ReplaceAllString(read(t, file), ""), "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			links++
			path, anchor, _ := strings.Cut(m[1], "#")
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), filepath.FromSlash(path))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: link %s leads nowhere", file, m[1])
			} else if anchor != "" && !slices.Contains(anchors(read(t, target)), anchor) {
				t.Errorf("%s: link %s: there is no such heading", file, m[1])
			}
		}
	}
	if links == 0 {
		t.Error("no link was found at all")
	}
}

// anchors returns what the headings of a document can be linked by.
func anchors(text string) []string {
	var all []string
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		all = append(all, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case strings.ContainsRune("`.,:;()'\"/!?*", r):
				return -1
			}
			return r
		}, strings.ToLower(m[1])))
	}
	return all
}

// TestVariablesExist checks every variable that a document names.
func TestVariablesExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, v := range config.Variables() {
		known[v.Name] = true
	}
	variable := regexp.MustCompile(`BARECLAW_[A-Z0-9_]*[A-Z0-9]`)
	for _, file := range append(documents(t), "openapi.yaml") {
		for _, name := range variable.FindAllString(read(t, file), -1) {
			ofTests := strings.HasPrefix(name, "BARECLAW_TEST_") || strings.HasPrefix(name, "BARECLAW_REQUIRE_")
			mark := name == "BARECLAW_SESSION"        // set by session hosts, see sessionhost/protocol/envmark.go
			example := name == "BARECLAW_LINE_SOCKET" // of the adapter in adapters.md, which a test adds
			if !known[name] && !ofTests && !mark && !example && name != client.SocketVariable {
				t.Errorf("%s names %s, which nothing reads", file, name)
			}
		}
	}
}

// rows returns the cells of the table in a document whose header begins so.
func rows(t *testing.T, file, header string) [][]string {
	t.Helper()
	_, rest, found := strings.Cut(read(t, filepath.Join(root, file)), "\n"+header)
	if !found {
		t.Fatalf("%s has no table %q", file, header)
	}
	var all [][]string
	for i, line := range strings.Split(rest, "\n") {
		if i < 2 {
			continue // what is left of the header, and the rule below it
		}
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		all = append(all, cells)
	}
	return all
}

func firstCells(table [][]string) []string {
	var names []string
	for _, row := range table {
		names = append(names, strings.Trim(row[0], "`"))
	}
	return names
}

// TestTargetsAreDocumented holds the table of make targets to the Makefile.
func TestTargetsAreDocumented(t *testing.T) {
	t.Parallel()
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):.*## `).FindAllStringSubmatch(read(t, filepath.Join(root, "Makefile")), -1) {
		if m[1] != "help" {
			want = append(want, "make "+m[1])
		}
	}
	if got := firstCells(rows(t, "CONTRIBUTING.md", "| command | does |")); !slices.Equal(got, want) {
		t.Errorf("the documented targets are %v, want %v", got, want)
	}
}

func openAPIDocument(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(OpenAPI())
	check.OK(t, err)
	return doc
}

// TestRoutesAreDocumented holds the routes of docs/http.md to openapi.yaml.
func TestRoutesAreDocumented(t *testing.T) {
	t.Parallel()
	var want []string
	for path, item := range openAPIDocument(t).Paths.Map() {
		for method := range item.Operations() {
			want = append(want, method+" "+path)
		}
	}
	got := firstCells(rows(t, "docs/http.md", "| route | what it does |"))
	slices.SortFunc(got, cmp.Compare[string])
	slices.SortFunc(want, cmp.Compare[string])
	if !slices.Equal(got, want) {
		t.Errorf("the documented routes are\n%q, want\n%q", got, want)
	}
}

// TestReadmeIsShort holds the README to a size that is read in one sitting.
func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	const limit = 12_000 // bytes
	if n := len(read(t, filepath.Join(root, "README.md"))); n > limit {
		t.Errorf("README.md has %d bytes, more than %d: move details to docs/", n, limit)
	}
}

// TestSourceFilesExist finds the source files that docs/architecture.md names, by their path
// from the root: whoever follows the document must find the place.
func TestSourceFilesExist(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("`([A-Za-z0-9_/.-]+\\.go)`").FindAllStringSubmatch(read(t, "architecture.md"), -1)
	if len(named) < 20 {
		t.Fatalf("only %d source files were found", len(named))
	}
	for _, m := range named {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("architecture.md names %s, which is not there", m[1])
		}
	}
}
