package capture

import "hash/maphash"

// forgottenPlaces is how many requests a forgotten knows at most: those of a few seconds under the highest load.
const forgottenPlaces = 1 << 14

// A forgotten knows which requests have been counted and are not kept any more, as SDKs tell of a request late. Of two
// that fall on the same place it knows the later one.
type forgotten struct {
	seed   maphash.Seed
	places [forgottenPlaces]uint64 // 0: none
}

func newForgotten() *forgotten { return &forgotten{seed: maphash.MakeSeed()} }

// add adds the request of the id.
func (f *forgotten) add(id string) {
	sum := f.sum(id)
	f.places[sum%forgottenPlaces] = sum
}

// has reports whether the request of the id was added.
func (f *forgotten) has(id string) bool {
	sum := f.sum(id)
	return f.places[sum%forgottenPlaces] == sum
}

// sum returns a hash of the id that is not 0.
func (f *forgotten) sum(id string) uint64 { return maphash.String(f.seed, id) | 1<<63 }
