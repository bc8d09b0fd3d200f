package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"bareclaw/internal/plainjson"
	"bareclaw/toolhost/api"
)

// Optional are the members of a tool that need not be there.
type Optional struct {
	Permissions []string
	TimeoutMS   int64           // 0: none is given
	Output      json.RawMessage // nil: likewise
	Annotations json.RawMessage // nil: likewise
}

// write writes the members that are given.
func (o *Optional) write(b *bytes.Buffer) {
	if len(o.Permissions) > 0 {
		list, _ := json.Marshal(o.Permissions) // strings can be encoded
		fmt.Fprintf(b, "  permissions: %s,\n", list)
	}
	if o.TimeoutMS != 0 {
		fmt.Fprintf(b, "  timeoutMs: %d,\n", o.TimeoutMS)
	}
	if o.Output != nil {
		fmt.Fprintf(b, "  outputSchema: %s,\n", indent(o.Output))
	}
	if o.Annotations != nil {
		fmt.Fprintf(b, "  annotations: %s,\n", indent(o.Annotations))
	}
}

// indent returns JSON as the value of a member.
func indent(value json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Indent(&b, value, "  ", "  ") != nil {
		return []byte("null")
	}
	return b.Bytes()
}

// Wrap returns the file of a tool whose handler has the given code as its body. The first line of
// the code is the line linesBefore + 1 of the file.
func Wrap(name, description string, schema json.RawMessage, code string, optional Optional) (source []byte, linesBefore int) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "export const tool = {\n")
	fmt.Fprintf(&b, "  name: %s,\n  description: %s,\n", quote(name), quote(description))
	fmt.Fprintf(&b, "  schema: %s,\n", indent(schema))
	optional.write(&b)
	b.WriteString(handlerLine)
	linesBefore = bytes.Count(b.Bytes(), []byte("\n"))
	fmt.Fprintf(&b, "%s\n  },\n};\n", code)
	return b.Bytes(), linesBefore
}

// handlerLine is the line before the code.
const handlerLine = "  async handler(args: Record<string, any>) {\n"

// linesBefore returns how many lines the file of a tool has before the code, if the tool was made.
func linesBefore(source []byte) int {
	before, _, found := bytes.Cut(source, []byte("\n"+handlerLine))
	if !found || !bytes.HasPrefix(source, []byte(api.MadeTool)) {
		return 0
	}
	return bytes.Count(before, []byte("\n")) + 2
}

// CheckSource returns what is wrong with a file, as far as that shows before any of it runs.
func CheckSource(file string, source []byte) error {
	err := Scan(file, source)
	if err == nil {
		_, err = transform(source, transformOptions(file))
	}
	if at, ok := errors.AsType[*Error](err); ok && at.Line > 0 {
		return explainModule(string(source), at)
	}
	return err
}

// IsBody reports whether code is the body of a function and nothing else. Code that ends the
// function of [Wrap] and goes on with other members of the tool is none: beside a function that stands alone
// there can be no members.
func IsBody(code string) bool {
	_, err := transform([]byte("(async function (args: Record<string, any>) {\n"+code+"\n})"), transformOptions("code"))
	return err == nil
}

func quote(s string) string {
	b, _ := plainjson.Marshal(s) // a string can be encoded
	return string(b)
}
