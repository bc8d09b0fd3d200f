package realclaude

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxUnpackedBytes bounds what an archive may grow to; the CLI has 0.4 GB.
const maxUnpackedBytes = 2 << 30

// verify compares the file with a checksum in npm's form.
func verify(file, integrity string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha512.New()
	if _, err := io.Copy(sum, f); err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(file), err)
	}
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum.Sum(nil)); got != integrity {
		return fmt.Errorf("checksum of %s is %s, want %s", filepath.Base(file), got, integrity)
	}
	return nil
}

// unpack writes the files of an npm tarball below dir, which it makes, without
// the first element of their names. Anything but plain files and directories
// inside is an error.
func unpack(tarball, dir string) (err error) {
	f, err := os.Open(tarball)
	if err != nil {
		return err
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", filepath.Base(tarball), err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	archive := tar.NewReader(io.LimitReader(zipped, maxUnpackedBytes))
	for {
		entry, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpack %s: %w", filepath.Base(tarball), err)
		}
		if err := extract(root, entry, archive); err != nil {
			return fmt.Errorf("unpack %q: %w", entry.Name, err)
		}
	}
}

// extract writes one entry. The root keeps it inside, whatever its name.
func extract(root *os.Root, entry *tar.Header, data io.Reader) error {
	_, name, _ := strings.Cut(path.Clean(entry.Name), "/")
	switch {
	case !filepath.IsLocal(filepath.FromSlash(entry.Name)):
		return errors.New("a name that leads out of the archive")
	case entry.Typeflag == tar.TypeDir:
		return nil // made when a file needs it
	case entry.Typeflag != tar.TypeReg:
		return fmt.Errorf("entry of type %q", entry.Typeflag)
	case name == "":
		return errors.New("a file outside the package directory")
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if entry.FileInfo().Mode()&0o100 != 0 {
		mode = 0o755
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, data)
	return errors.Join(err, f.Sync(), f.Close()) // on disk before the directory gets its name
}
