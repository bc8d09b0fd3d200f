package program

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Find returns the program that a path means: a file, or in a directory the one that is
// named bareclaw, or is built there from the source of one. What is built goes into the
// directory work; what the tool chain does goes to progress. It blocks for as long as a
// build takes.
func Find(ctx context.Context, path, work string, progress io.Writer) (program string, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find the new program: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("find the new program: %w", err)
	}
	if !info.IsDir() {
		return path, nil
	}
	if IsSource(path) {
		return build(ctx, path, work, progress)
	}
	program = filepath.Join(path, "bareclaw")
	if info, err := os.Stat(program); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is neither a program nor a source tree of bareclaw: name a program's file, a directory with one named bareclaw in it, "+
			"or the directory of the source that go.mod is in", path)
	}
	return program, nil
}

// IsSource reports whether a directory holds the source of this program.
func IsSource(dir string) bool {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && bytes.HasPrefix(mod, []byte("module bareclaw\n"))
}

// build builds the source. The program does not know where that is: otherwise every
// restart would build it anew, and it could not be replaced by another file.
func build(ctx context.Context, source, work string, progress io.Writer) (string, error) {
	tool, err := exec.LookPath("go")
	if err != nil {
		return "", fmt.Errorf("build %s: the Go tool chain is needed for that: %w", source, err)
	}
	program := filepath.Join(work, "bareclaw")
	cmd := exec.CommandContext(ctx, tool, "build", "-v", "-trimpath", "-o", program, ".")
	cmd.Dir, cmd.Stdout, cmd.Stderr = source, progress, progress
	switch err := cmd.Run(); {
	case ctx.Err() != nil:
		return "", fmt.Errorf("build %s: %w", source, context.Cause(ctx))
	case err != nil:
		return "", fmt.Errorf("%s does not compile, or cannot be built here: see what go says above, and mend that (%w). Nothing was changed", source, err)
	}
	var mode fs.FileMode = 0o755 // whatever the umask made of it
	if err := os.Chmod(program, mode); err != nil {
		return "", fmt.Errorf("build %s: %w", source, err)
	}
	return program, nil
}
