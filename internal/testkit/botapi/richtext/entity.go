package richtext

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

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
	// maxEntityBytes bounds what the entities carry, above all URLs. About 9500 by
	// github.com/tdlib/telegram-bot-api/issues/165; not documented.
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

// parse reads an entity, and refuses what the Bot API server refuses about one by itself.
func parse(raw json.RawMessage) (e Entity, err error) {
	refuse := func(format string, args ...any) (Entity, error) { return e, words(fmt.Sprintf(format, args...)) }
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return refuse("can't parse MessageEntity: expected an Object")
	}
	for _, field := range []string{"offset", "length", "type"} {
		if fields[field] == nil {
			return refuse("can't parse MessageEntity: Can't find field \"%s\"", field)
		}
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return refuse("can't parse MessageEntity: %v", err)
	}
	known := splittable(e.Type) || quote(e.Type) || code(e.Type) || found(e.Type)
	switch {
	case e.Type == "text_link":
		if err := checkURL(e.URL); err != nil {
			return refuse("entity URL '%s' is invalid: %v", e.URL, err)
		}
	case e.Type == "":
		return refuse("can't parse MessageEntity: Type is not specified")
	case !known:
		return refuse("can't parse MessageEntity: Unsupported type specified")
	}
	switch {
	case e.Offset < 0 || e.Offset > maxOffset:
		return refuse("receive an entity with incorrect offset %d", e.Offset)
	case e.Length < 0 || e.Length > maxOffset:
		return refuse("receive an entity with incorrect length %d", e.Length)
	}
	return e, nil
}

// clash says why b cannot stand with a, which begins no later and is no shorter if it
// begins with it. "" is no clash.
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

// sorted orders entities as a reader meets them, the longer one first, and of the same
// range quotes outside and code inside.
func sorted(entities []Entity) []Entity {
	rank := func(kind string) int {
		switch {
		case quote(kind):
			return 0
		case code(kind):
			return 2
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(entities), func(a, b Entity) int {
		return cmp.Or(a.Offset-b.Offset, b.Length-a.Length, rank(a.Type)-rank(b.Type))
	})
}
