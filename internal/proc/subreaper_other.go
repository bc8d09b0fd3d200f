//go:build !linux

package proc

// BecomeSubreaper makes this process the parent of those of its descendants
// whose own parents end. Here it does nothing: there is no such thing.
func BecomeSubreaper() error { return nil }
