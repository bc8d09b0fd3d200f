package toolhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bareclaw/core/tools"
)

// maxPlan bounds the file that plan_read returns, in bytes.
const maxPlan = 1 << 20

// planArgs are the arguments of plan_read.
type planArgs struct {
	Path string `json:"path"`
}

// readPlan returns a Markdown file. A symbolic link counts as what it leads to.
func readPlan(_ context.Context, _ tools.Call, args planArgs) (tools.Result, error) {
	switch {
	case !filepath.IsAbs(args.Path):
		return tools.Result{}, fmt.Errorf("path: %.300q must be an absolute path", args.Path)
	case slices.Contains(strings.Split(args.Path, "/"), ".."):
		return tools.Result{}, fmt.Errorf("path: %.300q must not lead upwards with .. in it", args.Path)
	}
	path, err := filepath.EvalSymlinks(args.Path)
	if err != nil {
		return tools.Result{}, err
	}
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return tools.Result{}, err
	case !strings.EqualFold(filepath.Ext(path), ".md") || !st.Mode().IsRegular():
		return tools.Result{}, errors.New("path: only regular .md files are read")
	case st.Size() > maxPlan:
		return tools.Result{}, fmt.Errorf("path: the file has %d bytes; at most %d are read", st.Size(), maxPlan)
	}
	f, err := os.Open(path)
	if err != nil {
		return tools.Result{}, err
	}
	defer func() { _ = f.Close() }()
	if now, err := f.Stat(); err != nil || !os.SameFile(st, now) { // replaced meanwhile
		return tools.Result{}, errors.Join(errors.New("path: the file has just changed; try again"), err)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxPlan))
	return tools.Result{Text: strings.ToValidUTF8(string(b), "\uFFFD")}, err
}
