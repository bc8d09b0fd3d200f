//go:build !linux

package doctor

import "os"

// unnamedFile creates a file in the directory and removes the file's name at once.
func unnamedFile(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func syncData(f *os.File) error { return f.Sync() }
