package botapi

import (
	"slices"
	"strings"
)

// A reaction of a bot is one of these: core.telegram.org/bots/api#reactiontypeemoji
const reactions = "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡"

// setMessageReaction: core.telegram.org/bots/api#setmessagereaction
func (r *request) setMessageReaction() (any, error) {
	var list []struct {
		Type  string `json:"type"`
		Emoji string `json:"emoji"`
	}
	if _, err := r.decode("reaction", &list); err != nil {
		return nil, bad("can't parse reaction types JSON object")
	}
	c, err := r.chat()
	if err != nil {
		return nil, err
	}
	m := c.messages[int(r.integer("message_id"))]
	if m == nil || m.deleted {
		return nil, bad("message to react not found")
	}
	emoji := ""
	if len(list) > 1 {
		return nil, bad("REACTIONS_TOO_MANY")
	}
	if len(list) == 1 {
		emoji = list[0].Emoji
		if list[0].Type != "emoji" || !slices.Contains(strings.Fields(reactions), emoji) {
			return nil, bad("REACTION_INVALID")
		}
	}
	m.reaction = emoji
	r.s.noteLocked(c, "reaction", m)
	return true, nil
}

// React sets the user's reaction to a message; "" takes it away. The bot hears
// of it only if it asked for message_reaction.
func (c *Chat) React(by *User, messageID int, emoji string) int64 {
	var update int64
	c.change(func(state *chat) error {
		if _, err := state.visible(messageID); err != nil {
			return err
		}
		fresh := []object{}
		if emoji != "" {
			fresh = append(fresh, object{"type": "emoji", "emoji": emoji})
		}
		update = c.s.pushLocked("message_reaction", object{
			"chat": state.wireLocked(), "message_id": messageID, "user": by.wireLocked(), "date": c.s.unixLocked(),
			"old_reaction": []object{}, "new_reaction": fresh,
		})
		return nil
	})
	return update
}
