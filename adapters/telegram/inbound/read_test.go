package inbound

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/media"

	"github.com/go-telegram/bot/models"
)

// parse reads a message from its JSON.
func parse(t testing.TB, message string) *models.Message {
	t.Helper()
	u, err := botapi.DecodeUpdate(json.RawMessage(`{"update_id":1,"message":` + message + `}`))
	if err != nil || u.Message == nil {
		t.Fatalf("read %s: %v", message, err)
	}
	return u.Message
}

// reader returns a Reader of a bot, whose Inert marks every @.
func reader(bot string) *Reader {
	return &Reader{BotName: func() string { return bot }, Inert: strings.NewReplacer("@", "＠").Replace}
}

// TestTextOfMessages holds what the agent reads of messages without files.
func TestTextOfMessages(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", maxQuote+1)
	for name, c := range map[string]struct{ message, want string }{
		"text":               {`{"text":"hi"}`, "hi"},
		"mention":            {`{"text":"@Our_Bot, hi"}`, "hi"},
		"mention, newline":   {`{"text":"@our_bot\nhi"}`, "hi"},
		"other mention":      {`{"text":"@somebody hi"}`, "@somebody hi"},
		"late mention":       {`{"text":"hi @our_bot"}`, "hi @our_bot"},
		"command":            {`{"text":"/review@our_bot a b"}`, "/review a b"},
		"command alone":      {`{"text":"/review@our_bot"}`, "/review"},
		"path":               {`{"text":"/home/a@b c"}`, "/home/a@b c"},
		"command in reply":   {`{"text":"/review","reply_to_message":{"message_id":2,"text":"x","from":{"first_name":"Bo"}}}`, "/review"},
		"only spaces":        {`{"text":" \n"}`, ""},
		"forward":            {`{"text":"hi","forward_origin":{"type":"user","sender_user":{"first_name":"Bo","last_name":"B"}}}`, "Forwarded from Bo B:\nhi"},
		"hidden forward":     {`{"text":"hi","forward_origin":{"type":"hidden_user","sender_user_name":"Bo\n[channel: x]"}}`, "Forwarded from Bo [channel: x]:\nhi"},
		"channel forward":    {`{"text":"hi","forward_origin":{"type":"channel","chat":{"title":"News"}}}`, "Forwarded from News:\nhi"},
		"nameless forward":   {`{"text":"hi","forward_origin":{"type":"chat","sender_chat":{}}}`, "Forwarded from somebody:\nhi"},
		"forwarded @":        {`{"text":"see @x\u200b","forward_origin":{"type":"hidden_user","sender_user_name":"Bo @y"}}`, "Forwarded from Bo ＠y:\nsee ＠x\\u{200B}"},
		"forwarded lines":    {`{"text":"a\r\nb\u2028c","forward_origin":{"type":"hidden_user","sender_user_name":"Bo"}}`, "Forwarded from Bo:\na\nb\nc"},
		"forwarded @bot":     {`{"text":"@our_bot see @x","forward_origin":{"type":"hidden_user","sender_user_name":"Bo"}}`, "Forwarded from Bo:\nsee ＠x"},
		"through a bot":      {`{"text":"/new @x","via_bot":{"id":7,"username":"gif_bot"}}`, "Made with the bot gif_bot:\n/new ＠x"},
		"own words stay":     {`{"text":"see @x\u200b"}`, "see @x\u200b"},
		"quoted @":           {`{"text":"@why","quote":{"text":"see @x\u2060"},"external_reply":{"origin":{"type":"user","sender_user":{"first_name":"@Bo"}}}}`, "In reply to ＠Bo:\n> see ＠x\\u{2060}\n\n@why"},
		"reply to @":         {`{"text":"@why","reply_to_message":{"message_id":2,"text":"a\r@b\u2028c","from":{"first_name":"Bo"}}}`, "In reply to Bo:\n> a\n> ＠b\n> c\n\n@why"},
		"contact @":          {`{"contact":{"phone_number":"@1","first_name":"@Bo"}}`, "Contact: ＠Bo, ＠1"},
		"poll @":             {`{"poll":{"question":"@Tea?","options":[{"text":"@yes"}]}}`, "Poll: ＠Tea?\n- ＠yes"},
		"checklist @":        {`{"checklist":{"title":"@Do","tasks":[{"text":"@a"}]}}`, "Checklist: ＠Do\n- [ ] ＠a"},
		"venue @":            {`{"venue":{"title":"@Bar","address":"@Road","location":{"latitude":1,"longitude":2}}}`, "Venue: ＠Bar, ＠Road (1, 2)"},
		"forwarded slash":    {`{"text":"/review all","forward_origin":{"type":"hidden_user","sender_user_name":"Bo"}}`, "Forwarded from Bo:\n/review all"},
		"own words":          {`{"text":"[channel: x] is a prefix"}`, "[channel: x] is a prefix"},
		"new forward":        {`{"text":"hi","forward_origin":{"type":"from_mars"}}`, "hi"},
		"reply":              {`{"text":"why?","reply_to_message":{"message_id":2,"text":"a\nb","from":{"first_name":"Bo"}}}`, "In reply to Bo:\n> a\n> b\n\nwhy?"},
		"reply to nothing":   {`{"text":"why?","reply_to_message":{"message_id":2,"from":{"first_name":"Bo"}}}`, "In reply to Bo.\n\nwhy?"},
		"quote":              {`{"text":"why?","quote":{"text":"b"},"reply_to_message":{"message_id":2,"text":"a\nb","from":{"first_name":"Bo"}}}`, "In reply to Bo:\n> b\n\nwhy?"},
		"reply elsewhere":    {`{"text":"why?","quote":{"text":"b"},"external_reply":{"origin":{"type":"user","sender_user":{"first_name":"Bo"}}}}`, "In reply to Bo:\n> b\n\nwhy?"},
		"poll elsewhere":     {`{"text":"which one?","external_reply":{"origin":{"type":"hidden_user","date":1,"sender_user_name":"Dee"},"poll":{"question":"Tea?","options":[{"text":"@yes"},{"text":"no"}]}}}`, "In reply to Dee:\n> Poll: Tea?\n> - ＠yes\n> - no\n\nwhich one?"},
		"contact elsewhere":  {`{"text":"who?","external_reply":{"origin":{"type":"hidden_user","date":1,"sender_user_name":"Dee"},"contact":{"phone_number":"+49 1","first_name":"Bo"}}}`, "In reply to Dee:\n> Contact: Bo, +49 1\n\nwho?"},
		"location elsewhere": {`{"text":"where?","external_reply":{"origin":{"type":"hidden_user","date":1,"sender_user_name":"Dee"},"location":{"latitude":1,"longitude":2}}}`, "In reply to Dee:\n> Location: 1, 2\n\nwhere?"},
		"story elsewhere":    {`{"text":"nice","external_reply":{"origin":{"type":"hidden_user","date":1,"sender_user_name":"Dee"},"story":{"id":1}}}`, "In reply to Dee:\n> (story)\n\nnice"},
		"quote of a poll":    {`{"text":"this?","quote":{"text":"b"},"external_reply":{"origin":{"type":"hidden_user","date":1,"sender_user_name":"Dee"},"poll":{"question":"Tea?","options":[]}}}`, "In reply to Dee:\n> b\n\nthis?"},
		"reply to rich":      {`{"text":"what?","reply_to_message":{"message_id":3,"from":{"first_name":"OtherBot"},"rich_message":{"blocks":[{"type":"paragraph","text":{"type":"bold","text":"Watch list"}}]}}}`, "In reply to OtherBot:\n> Watch list\n\nwhat?"},
		"rich forward": {`{"forward_origin":{"type":"user","date":1,"sender_user":{"first_name":"OtherBot"}},"rich_message":{"blocks":[{"type":"paragraph","text":["@ALFA ",{"type":"italic","text":"12.3"}]},{"type":"list","items":[{"label":"1.","blocks":[{"type":"paragraph","text":"one"}]}]},{"type":"table","cells":[[{"text":"a","align":"left","valign":"top"},{"text":"b","align":"left","valign":"top"}]]}]}}`,
			"Forwarded from OtherBot:\n＠ALFA 12.3\n1. one\na | b"},
		"reply to channel": {`{"text":"why?","reply_to_message":{"message_id":2,"text":"a","from":{"first_name":"Group"},"sender_chat":{"title":"News"}}}`, "In reply to News:\n> a\n\nwhy?"},
		"in a topic":       {`{"text":"hi","reply_to_message":{"message_id":2,"forum_topic_created":{"name":"T"}}}`, "hi"},
		"long quote":       {`{"text":"why?","reply_to_message":{"message_id":2,"text":"` + long + `"}}`, "In reply to somebody:\n> " + long[:2*(maxQuote-1)] + "…\n\nwhy?"},
		"contact":          {`{"contact":{"phone_number":"+49 1","first_name":"Bo","last_name":"B"}}`, "Contact: Bo B, +49 1"},
		"location":         {`{"location":{"latitude":52.5,"longitude":-13.25}}`, "Location: 52.5, -13.25"},
		"venue":            {`{"location":{"latitude":1,"longitude":2},"venue":{"title":"Bar","address":"Road 1","location":{"latitude":1,"longitude":2}}}`, "Venue: Bar, Road 1 (1, 2)"},
		"poll":             {`{"poll":{"question":"Tea?","options":[{"text":"yes"},{"text":"no"}]}}`, "Poll: Tea?\n- yes\n- no"},
		"checklist":        {`{"checklist":{"title":"Do","tasks":[{"text":"a","completion_date":5},{"text":"b"}]}}`, "Checklist: Do\n- [x] a\n- [ ] b"},
		"dice":             {`{"dice":{"emoji":"🎲","value":4}}`, "Dice: 🎲 4"},
		"animated sticker": {`{"sticker":{"emoji":"😀","set_name":"S","is_animated":true}}`, "Sticker received: 😀 (animated, set: S)"},
		"video sticker":    {`{"sticker":{"emoji":"😀","is_video":true}}`, "Sticker received: 😀 (video)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := reader("our_bot").read(parse(t, c.message))
			b, err := assemble([]unit{{says: []reading{s}}})
			if err != nil || b.Content.Text != c.want || b.Empty != (c.want == "") {
				t.Errorf("got %q (nothing %v, %v), want %q", b.Content.Text, b.Empty, err, c.want)
			}
		})
	}
}

// TestFilesOfMessages holds what the agent reads of messages with files.
func TestFilesOfMessages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ message, want string }{
		"document":        {`{"caption":"see","document":{"file_name":"a 100%.txt","mime_type":"text/plain"}}`, "see\nFile received: a 100%.txt (1.5 KB, text/plain)\nSaved to: PATH"},
		"names":           {`{"caption":"@see","document":{"file_name":"@a <b>\u200b.txt","mime_type":"@c"}}`, "@see\nFile received: ＠a <b>\\u{200B}.txt (1.5 KB, ＠c)\nSaved to: PATH"},
		"titles":          {`{"audio":{"duration":3,"title":"@T","performer":"@P"}}`, "Title: ＠T\nArtist: ＠P\nAudio file (3s, 1.5 KB)\nSaved to: PATH"},
		"no name":         {`{"document":{}}`, "File received: unnamed (1.5 KB)\nSaved to: PATH"},
		"voice":           {`{"voice":{"duration":3}}`, "Voice message received (3s, 1.5 KB)\nSaved to: PATH"},
		"audio":           {`{"audio":{"duration":3,"title":"T","performer":"P","mime_type":"audio/mpeg"}}`, "Title: T\nArtist: P\nAudio file (3s, 1.5 KB, audio/mpeg)\nSaved to: PATH"},
		"video":           {`{"caption":"c","video":{"duration":3,"width":4,"height":5}}`, "c\nVideo received (3s, 4x5, 1.5 KB)\nSaved to: PATH"},
		"video note":      {`{"video_note":{"duration":3}}`, "Video note received (3s, 1.5 KB)\nSaved to: PATH"},
		"animation":       {`{"animation":{"duration":3,"width":4,"height":5},"document":{"file_name":"x.mp4"}}`, "GIF/animation received (3s, 4x5, 1.5 KB)\nSaved to: PATH"},
		"photo":           {`{"photo":[{"width":9,"height":9,"file_id":"big"},{"width":1,"height":1}]}`, "What do you see in this image?\n\n(saved to PATH)"},
		"captioned":       {`{"caption":"cat?","photo":[{"width":9,"height":9,"file_id":"big"}]}`, "cat?\n\n(saved to PATH)"},
		"image file":      {`{"document":{"mime_type":"image/png"}}`, "Image file received.\n\n(saved to PATH)"},
		"sticker":         {`{"sticker":{"emoji":"😀","set_name":"S"}}`, "Sticker: 😀 (set: S)\n\n(saved to PATH)"},
		"reply":           {`{"chat":{"id":1},"text":"cat?","reply_to_message":{"chat":{"id":1},"message_id":2,"photo":[{"file_id":"big"}]}}`, "In reply to somebody:\n> (photo)\n\ncat?\n(The message that is replied to has a photo, saved to PATH)"},
		"photo elsewhere": {`{"text":"is this right?","external_reply":{"origin":{"type":"channel","date":1,"chat":{"id":-100777,"type":"channel","title":"News"}},"message_id":9,"photo":[{"file_id":"big"}]}}`, "In reply to News:\n> (photo)\n\nis this right?\n(The message that is replied to has a photo, saved to PATH)"},
		"file elsewhere":  {`{"text":"and this?","external_reply":{"origin":{"type":"hidden_user","date":1,"sender_user_name":"Dee"},"document":{"file_id":"D","file_name":"plan.pdf"}}}`, "In reply to Dee:\n> (file)\n\nand this?\n(The message that is replied to has a file, saved to PATH)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := reader("")
			s := r.read(parse(t, c.message))
			if len(s.files) != 1 {
				t.Fatalf("it has %d files", len(s.files))
			}
			f := received{File: s.files[0], path: "PATH", about: r.ofOthers(s.files[0].Described(1536))}
			if f.Image {
				f.block = json.RawMessage(`{}`)
			}
			b, err := assemble([]unit{{[]reading{s}, []received{f}}})
			got := b.Content.Text
			if n := len(b.Content.Blocks); n > 0 {
				var last struct{ Text string }
				if err := json.Unmarshal(b.Content.Blocks[n-1], &last); err != nil || n != 2 {
					t.Errorf("%d blocks, %v", n, err)
				}
				got = last.Text
			}
			if err != nil || got != c.want || b.Empty {
				t.Errorf("got %q (%v), want %q", got, err, c.want)
			}
		})
	}
}

// TestFilesThatAreMissing holds that what was written is passed on, and that both
// sides are told what did not arrive.
func TestFilesThatAreMissing(t *testing.T) {
	t.Parallel()
	voice, photo := media.File{Kind: "voice message", Spoken: true, About: "Voice ("}, media.File{Kind: "photo", Image: true, About: "Photo received (", Ask: "?"}
	for name, c := range map[string]struct {
		text       string
		file       received
		want, note string
	}{
		"refused":           {"look", received{File: photo, failure: "too large"}, "look\n(A photo was sent with this, but it is not here: too large.)", "Your photo could not be received: too large.\nClaude got the rest of your message."},
		"refused, alone":    {"", received{File: photo, failure: "too large"}, "-", "Your photo could not be received: too large."},
		"not shown":         {"look", received{File: photo, path: "P", about: "Photo received (0.0 KB)", hidden: "it is damaged"}, "look\nPhoto received (0.0 KB)\nSaved to: P\n(It is not shown here: it is damaged.)", ""},
		"transcribed":       {"", received{File: voice, path: "P", about: "Voice (0.0 KB)", transcript: "hello there"}, "Voice (0.0 KB)\nSaved to: P\nTranscript: hello there", ""},
		"not transcribed":   {"", received{File: voice, path: "P", about: "Voice (0.0 KB)", deaf: "no model"}, "Voice (0.0 KB)\nSaved to: P\n(It could not be transcribed: no model.)", "Your voice message could not be transcribed: no model.\nClaude got the rest of your message."},
		"not quoted either": {"why?", received{File: media.File{Kind: "video", Quoted: true}, failure: "gone"}, "why?\n(The message that is replied to has a video, but it is not here: gone.)", "The video that you reply to could not be received: gone.\nClaude got the rest of your message."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := assemble([]unit{{[]reading{{text: c.text}}, []received{c.file}}})
			got := b.Content.Text
			if b.Empty {
				got = "-"
			}
			if err != nil || got != c.want || b.Problems() != c.note {
				t.Errorf("got %q and the note %q (%v), want %q and %q", got, b.Problems(), err, c.want, c.note)
			}
		})
	}
}

// TestAlbumIsOneMessage holds how an album reads.
func TestAlbumIsOneMessage(t *testing.T) {
	t.Parallel()
	image := func(path string) received {
		return received{File: media.File{Kind: "photo", Image: true, Ask: "?"}, path: path, block: json.RawMessage(`{}`)}
	}
	b, err := assemble([]unit{{[]reading{{}, {text: "second"}, {}}, []received{image("A"), image("B"), {File: media.File{Kind: "file"}, about: "File (0.0 KB)", path: "C"}}}})
	if err != nil || len(b.Content.Blocks) != 3 || !strings.Contains(string(b.Content.Blocks[2]), `second\n\n(saved to A)\n(saved to B)\nFile (0.0 KB)\nSaved to: C`) {
		t.Errorf("got %s, %v", b.Content.Blocks, err)
	}
	b, _ = assemble([]unit{{[]reading{{}, {}}, []received{image("A"), image("B")}}})
	if !strings.Contains(string(b.Content.Blocks[2]), "in these images?") {
		t.Errorf("without a caption: %s", b.Content.Blocks[2])
	}
}

// TestWhatNobodyUnderstands holds that a message is never passed over in silence,
// unless nobody has said anything.
func TestWhatNobodyUnderstands(t *testing.T) {
	t.Parallel()
	for message, service := range map[string]bool{
		`{"story":{"id":1}}`: false, `{"hologram":{"id":1}}`: false, `{"game":{"title":"x"}}`: false, `{"paid_media":{"star_count":1,"paid_media":[]}}`: false,
		`{"new_chat_members":[{"id":1}]}`: true, `{"pinned_message":{"date":0}}`: true, `{"forum_topic_created":{"name":"x"}}`: true,
		`{"migrate_to_chat_id":-5}`: true,
	} {
		m := parse(t, message)
		b, err := assemble([]unit{{says: []reading{reader("").read(m)}}})
		if IsService(m) != service || !b.unread || !b.Empty || b.Problems() == "" || err != nil {
			t.Errorf("%s: service %v, unread %v, note %q", message, IsService(m), b.unread, b.Problems())
		}
	}
}

// FuzzUpdate holds that no update ends the process, and that what is made of it can
// be handed to the core and kept in a file.
func FuzzUpdate(f *testing.F) {
	for _, seed := range []string{
		`{"update_id":1,"message":{"message_id":5,"date":7,"from":{"id":1},"chat":{"id":1},"text":"/a@b c"}}`,
		`{"update_id":1,"message":{"message_id":5,"caption":"x","document":{"file_name":"../%s\u0000.x"},"reply_to_message":{"photo":[{}]}}}`,
		`{"update_id":1,"message":{"photo":[],"forward_origin":{"type":"?"}}}`,
		`{"update_id":1,"edited_message":{"media_group_id":"1","audio":{"title":"%d"}}}`,
		`{"update_id":1,"message":{"forward_origin":{"type":"channel"},"external_reply":{"origin":{"type":"user"}},"quote":{}}}`,
		`{"update_id":1,"message":{"text":"\ud800 @our_bot"}}`, `{"update_id":1,"message":{"text":"@x\u200b","via_bot":{"username":"@y"}}}`, `{"update_id":1,"message":null}`, `[]`, `{"update_id":"x"}`, `{`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		u, err := botapi.DecodeUpdate(raw)
		if err != nil {
			return
		}
		_ = botapi.OriginOf(&u)
		m := u.Message
		if m == nil {
			m = u.EditedMessage
		}
		if m == nil {
			return
		}
		_ = IsService(m)
		s := reader("our_bot").read(m)
		var files []received
		for _, file := range s.files {
			if file.Name != filepath.Base(file.Name) || strings.HasPrefix(file.Name, ".") || len(file.Name) > 200 || strings.ContainsAny(file.Name, "/\\\x00\n") {
				t.Errorf("file name %q", file.Name)
			}
			files = append(files, received{File: file, path: "P"})
		}
		b, err := assemble([]unit{{[]reading{s}, files}})
		if err != nil || !utf8.ValidString(b.Content.Text) || !b.Empty && b.Content.Text == "" && len(b.Content.Blocks) == 0 {
			t.Errorf("content %q, %v", b.Content.Text, err)
		}
		if !isTyped(m) && strings.ContainsAny(b.Content.Text, "@\u200b") {
			t.Errorf("the sender has not typed %q", b.Content.Text)
		}
	})
}

// TestJoinedText holds what becomes of formats that a client has cut in two.
func TestJoinedText(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("x", markdown.MaxUnits)
	at := func(kind models.MessageEntityType, offset, length int) models.MessageEntity {
		return models.MessageEntity{Type: kind, Offset: offset, Length: length}
	}
	for _, c := range []struct {
		first, second string
		of1, of2      []models.MessageEntity
		want          string
	}{
		{full, "yy", []models.MessageEntity{at("bold", 4000, 96)}, []models.MessageEntity{at("bold", 0, 1)}, full[:4000] + "**" + full[4000:] + "y**y"},
		{full, "yy", []models.MessageEntity{at("bold", 4000, 95)}, []models.MessageEntity{at("code", 1, 1)}, full[:4000] + "**" + full[4001:] + "**xy`y`"},
		{"a\nb", "c\nd", []models.MessageEntity{at("pre", 2, 1)}, []models.MessageEntity{at("pre", 0, 1)}, "a\n```\nb\nc\n```\nd"},
		{"a", "b", nil, []models.MessageEntity{at("italic", 0, 1)}, "a\n*b*"},
	} {
		m := Join([]*models.Message{{Text: c.first, Entities: c.of1}, {Text: c.second, Entities: c.of2}})
		if got := reader("").Text(m); got != c.want {
			t.Errorf("it is %q, want %q", got[max(0, len(got)-200):], c.want[max(0, len(c.want)-200):])
		}
	}
}
