// Package samefile compares files by what paths lead to, over links and other spellings.
package samefile

import "os"

// Paths reports whether two paths lead to the same file or directory. Paths reports false if either
// leads to none, or cannot be followed.
func Paths(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}
