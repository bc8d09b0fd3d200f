package doctor

// What is wrong with keeping the ledger on a file system of some kind.
const (
	overNetwork = "Over a network, locks and syncs are not always what they say: the ledger may be damaged when a connection breaks."
	inMemory    = "It is in memory: every message and its outcome are gone when the machine is switched off."
)

// unfit says what is wrong with a file system for what must last, empty if nothing is
// known.
func unfit(kind string) string {
	switch kind {
	case "nfs", "smbfs", "cifs", "afpfs", "webdav", "9p", "ceph", "afs", "fuse":
		return overNetwork
	case "tmpfs", "ramfs":
		return inMemory
	}
	return ""
}
