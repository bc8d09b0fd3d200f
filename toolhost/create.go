package toolhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"bareclaw/core/tools"
	"bareclaw/toolhost/api"
)

// createTool returns dynamic_tool_create, with which sessions make tools in a directory.
func createTool(dir string, handle tools.Handler) tools.Tool {
	return tools.Tool{
		Name: api.CreateTool,
		Description: "Make a tool from TypeScript, or replace one that was made. The code is the body of an async function of args and returns the result, an object or a string. " +
			"Beside the language there are " + api.Available + ". fetch needs the permission network; fs.readFile, fs.writeFile and fs.list need filesystem; the gateway's owner decides what they reach. " +
			"There are no modules (require, import), no process or environment, no Node fs, no Blob, FormData, streams or events, and no locale but en-US. " +
			"Afterwards the tool can be called at once by " + tools.CallName + ". Each tool is a file of the directory " + dir + ", which may be edited too; " +
			readTool + " shows the file of a tool, and what its last call has written with console.log.",
		Input: json.RawMessage(`{"type":"object","properties":{` +
			`"name":{"type":"string","description":"lowercase letters, digits and _, at most 50"},` +
			`"description":{"type":"string","description":"what the tool does"},` +
			`"schema":{"type":"object","description":"JSON Schema of args; its type is object"},` +
			`"code":{"type":"string","description":"such as: return { reversed: [...args.text].reverse().join('') };"},` +
			`"permissions":{"type":"array","items":{"type":"string","enum":["browser","network","filesystem","ai"]},"description":"browser and ai are not available yet"},` +
			`"timeoutMs":{"type":"integer","minimum":1,"maximum":600000,"description":"how long a call may take; 30000 by default"},` +
			`"outputSchema":{"type":"object","description":"JSON Schema of the object that the code then must return"},` +
			`"annotations":{"type":"object","description":"hints for clients. A call of a tool that is neither readOnlyHint nor idempotentHint is never repeated after a crash",` +
			`"properties":{"title":{"type":"string"},"readOnlyHint":{"type":"boolean"},"idempotentHint":{"type":"boolean"},"destructiveHint":{"type":"boolean"},"openWorldHint":{"type":"boolean"}},"additionalProperties":false}},` +
			`"required":["name","description","schema","code"]}`),
		Annotations: tools.Annotations{Idempotent: true},
		Category:    tools.Meta,
		Timeout:     changeTimeout,
		Handle:      handle,
	}
}

// createArgs are the arguments of dynamic_tool_create that the daemon looks at.
type createArgs struct {
	Name string `json:"name"`
}

// create has the tool host check the tool, writes the file, and offers the tool.
func (m *manager) create(ctx context.Context, c tools.Call, args createArgs) (tools.Result, error) {
	if slices.Contains(protected, args.Name) {
		return tools.Result{}, fmt.Errorf("name: %q is protected and cannot be replaced", args.Name)
	}
	checked, err := m.offer.call(ctx, api.Tool{Tool: tools.Tool{Name: api.CreateTool}}, c, false)
	if ended := (*endedError)(nil); errors.As(err, &ended) {
		err = notChecked(ended)
	}
	if err != nil || checked.IsError {
		return checked, err
	}
	var file api.NewFile
	if err := json.Unmarshal(checked.Structured, &file); err != nil {
		return tools.Result{}, fmt.Errorf("the tool host's answer: %w", err)
	}
	name := args.Name + ".ts"
	if t, _ := m.offer.find(args.Name); t.File != "" {
		name = filepath.Base(t.File)
	}
	all, _ := m.offer.tools()
	for _, t := range all {
		if t.File == name && t.Name != args.Name {
			return tools.Result{}, fmt.Errorf("name: the file %s defines the tool %q; choose another name, or delete that tool first", name, t.Name)
		}
	}
	signature := fmt.Sprintf("%s by %s, %s.\n", api.MadeTool, makerOf(&c), time.Now().UTC().Format(time.RFC3339))
	err = m.files.write(name, []byte(signature+file.Source))
	if errors.Is(err, fs.ErrNotExist) { // the directory was deleted a moment ago: the next tool host makes it anew
		if err = m.replace(ctx, nil); err == nil {
			err = m.files.write(name, []byte(signature+file.Source))
		}
	}
	if err != nil {
		return tools.Result{}, fmt.Errorf("write the tool: %w", err)
	}
	present, err := m.state.await(ctx)
	if err == nil {
		_, err = m.offer.reload(ctx, present)
	}
	if err != nil {
		return tools.Result{}, fmt.Errorf("the tool is written, and will be offered later: %w", err)
	}
	if t, _ := m.offer.find(args.Name); t.File != name {
		return tools.Result{}, errors.New("the tool is written, but cannot be loaded; worker_status says why (lastError)")
	}
	if t, _ := m.registry.Find(args.Name); t.Source != api.Dynamic {
		return tools.Result{}, fmt.Errorf("the tool is written, but left out, because a tool of the source %s has its name; delete it, and choose another name", t.Source)
	}
	return tools.Result{Text: fmt.Sprintf("Tool '%s' created successfully. Call it now: %s with name %q.", args.Name, tools.CallName, args.Name)}, nil
}

// makerOf says who makes a tool.
func makerOf(c *tools.Call) string {
	switch {
	case c.Channel != "":
		return fmt.Sprintf("channel %q", c.Channel)
	case c.Local:
		return "a command of this machine"
	}
	return "a client outside of sessions"
}

// stuckCheck is the tool that the tool host names when it cannot interrupt the check of code.
const stuckCheck = "code"

// notChecked says what became of code that was being checked when the tool host ended.
func notChecked(e *endedError) error {
	switch e.stuck {
	case e.tool, stuckCheck:
		return errors.New("code: nothing was made, because the check of the code took too long and could not be interrupted; the tool host was restarted")
	case "":
		return fmt.Errorf("code: nothing was made, because the tool host ended while it checked the code, and had to be restarted; the code may be the cause: %w", e.cause)
	}
	return fmt.Errorf("nothing was made, because the tool host was restarted meanwhile: the tool %s could not be interrupted after its time limit. The code is not the cause: try again", e.stuck)
}
