package media

import (
	"strings"
	"testing"

	"bareclaw/core"
)

// TestKinds: a file is sent by its name, or as what was asked for.
func TestKinds(t *testing.T) {
	t.Parallel()
	for m, want := range map[core.Media]Kind{
		{Path: "a.png"}: photo, {Path: "B.PNG"}: photo, {Path: "a.png", Type: "document"}: asDocument, {Path: "a.gif"}: animation,
		{Path: "a.mp4"}: video, {Path: "a.mp4", Type: "animation"}: animation, {Path: "a.ogg"}: voice, {Path: "a.oga", Type: "audio"}: asAudio,
		{Path: "a.mp3"}: asAudio, {Path: "a.mp3", Type: "voice"}: asAudio, {Path: "a.tgs"}: sticker, {Path: "a.webp", Type: "sticker"}: sticker,
		{Path: "notes.md"}: asDocument, {Path: "no extension"}: asDocument,
	} {
		if got := KindOf(&m); got != want {
			t.Errorf("%+v is sent as %s, want %s", m, got, want)
		}
	}
}

func TestSafeNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a.txt": "a.txt", "../../etc/passwd": "passwd", "..": "file", ".": "file", "/": "_", `C:\x\y.doc`: "y.doc", ".bashrc": "file.bashrc",
		"a b\x00c.pdf": "a_b_c.pdf", "größe 5.png": "größe_5.png", "-rf": "-rf", "a.": "a.", strings.Repeat("é", 200) + ".jpeg": strings.Repeat("é", 57) + ".jpeg",
	} {
		if got := safeName(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}
