package markdown

import (
	"strings"
	"testing"
)

// TestLongAddresses shows that an address is bounded as it is sent.
func TestLongAddresses(t *testing.T) {
	t.Parallel()
	const site = "https://example.com/"
	for address, isLink := range map[string]bool{
		site + strings.Repeat("x", maxAddressBytes-len(site)):       true,
		site + strings.Repeat("x", maxAddressBytes-len(site)+1):     false,
		site + "x" + strings.Repeat(" ", maxAddressBytes/3) + "x":   false,
		site + strings.Repeat("\xff", maxAddressBytes/3):            false,
		site + "x" + strings.Repeat("\n ", maxAddressBytes/8) + "x": true,
	} {
		var b Builder
		b.link(address, "label", func() { b.write("label") })
		d := b.Document()
		checkSplit(t, d, MaxUnits)
		if got := len(d.Entities) == 1; got != isLink || isLink && d.Text != "label" {
			t.Errorf("%d bytes: %s", len(address), show(d))
		}
	}
}
