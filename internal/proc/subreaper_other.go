//go:build !linux

package proc

// BecomeSubreaper does nothing: only Linux has subreapers.
func BecomeSubreaper() error { return nil }
