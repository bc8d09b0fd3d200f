package toolhost

import (
	"fmt"
	"strings"
)

// ids returns the ids of the snapshots with a name, the newest first.
func (r *running) ids(name string) (ids []string) {
	r.t.Helper()
	all, err := r.snapshots.list()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, sn := range all {
		if sn.Name == name {
			ids = append(ids, sn.ID)
		}
	}
	return ids
}

var _ = fmt.Sprint
var _ = strings.Cut
