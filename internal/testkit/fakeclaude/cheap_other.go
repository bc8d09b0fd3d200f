//go:build !linux

package main

import "io"

func eachChunk(stdin io.Reader, take func(chunk []byte) error) error { return readChunks(stdin, take) }

func write(stdout io.Writer, p []byte) error {
	_, err := stdout.Write(p)
	return err
}
