package toolhost

import "bareclaw/toolhost/api"

// maxBlamed is how often a tool host may crash while it loads a file before the file is left out.
// The first time something else may have been the cause.
const maxBlamed = 2

// suspects count the crashes of tool hosts while they were loading a file.
type suspects map[api.File]int

// blame counts a crash. It reports whether the file is left out from now on.
func (s suspects) blame(f api.File) bool {
	if f == (api.File{}) { // no file was being loaded
		return false
	}
	s[f]++
	return s[f] == maxBlamed
}

// skipped returns the files to leave out, as long as their contents stay the same.
func (s suspects) skipped() (files []api.File) {
	for f, n := range s {
		if n >= maxBlamed {
			files = append(files, f)
		}
	}
	return files
}
