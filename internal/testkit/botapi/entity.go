package botapi

import "slices"

// An Entity formats a part of a text. Offset and Length count UTF-16 units.
type Entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
}

func (e Entity) end() int { return e.Offset + e.Length }

const (
	// maxEntities is where the servers stop to format: the rest stays plain,
	// github.com/rubenlagus/TelegramBots/issues/854. It is not documented.
	maxEntities = 100
	// maxEntityBytes bounds what the entities carry, above all URLs. About
	// 9500 by github.com/tdlib/telegram-bot-api/issues/165; not documented.
	maxEntityBytes = 9500
	maxOffset      = 1_000_000
)

// splittable entities may stand in all others but code and may hold each other.
func splittable(kind string) bool {
	return slices.Contains([]string{"bold", "italic", "underline", "strikethrough", "spoiler"}, kind)
}

func quote(kind string) bool { return kind == "blockquote" || kind == "expandable_blockquote" }

func code(kind string) bool { return kind == "code" || kind == "pre" }

// found are the types Telegram finds by itself and ignores when they are sent.
func found(kind string) bool {
	return slices.Contains([]string{"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bank_card_number"}, kind)
}

// check refuses what the Bot API server refuses about one entity by itself.
func (e Entity) check() {
	switch {
	case e.Type == "":
		panic(bad("can't parse MessageEntity: Type is not specified"))
	case splittable(e.Type), quote(e.Type), code(e.Type), found(e.Type):
	case e.Type == "text_link":
		if err := checkURL(e.URL); err != nil {
			panic(bad("entity URL '%s' is invalid: %v", e.URL, err))
		}
	default:
		panic(bad("can't parse MessageEntity: Unsupported type specified"))
	}
	switch {
	case e.Offset < 0 || e.Offset > maxOffset:
		panic(bad("receive an entity with incorrect offset %d", e.Offset))
	case e.Length < 0 || e.Length > maxOffset:
		panic(bad("receive an entity with incorrect length %d", e.Length))
	}
}

// clash says why b cannot stand with a, which begins no later and is no shorter
// if it begins with it. "" is no clash.
func clash(a, b Entity) string {
	switch {
	case b.Offset >= a.end():
		return ""
	case b.end() > a.end():
		return "they overlap"
	case code(a.Type):
		return "code has no other formatting"
	case code(b.Type) && !quote(a.Type):
		return "code stands in nothing but a quote"
	case quote(b.Type) && quote(a.Type):
		return "a quote stands in a quote"
	case splittable(a.Type), splittable(b.Type), quote(a.Type):
		return ""
	case quote(b.Type):
		return "a quote stands in no link"
	}
	return "neither may hold the other"
}

// sorted orders entities as a reader meets them, the longer one first.
func sorted(entities []Entity) []Entity {
	out := slices.Clone(entities)
	slices.SortStableFunc(out, func(a, b Entity) int {
		if a.Offset != b.Offset {
			return a.Offset - b.Offset
		}
		if a.Length != b.Length {
			return b.Length - a.Length
		}
		return rank(a.Type) - rank(b.Type)
	})
	return out
}

// rank puts quotes outside and code inside among entities of one range.
func rank(kind string) int {
	switch {
	case quote(kind):
		return 0
	case code(kind):
		return 2
	}
	return 1
}
