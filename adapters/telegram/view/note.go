// Package view renders what people see in a chat: texts, and the buttons below them. It
// has no state and does nothing.
package view

// A Note is a message of the gateway itself: the answer to a command, or the reason why
// something was refused.
type Note struct {
	Text    string     `json:"text"` // Markdown
	Buttons [][]Button `json:"buttons,omitempty"`
	ReplyTo int        `json:"reply_to,omitempty"` // message that the note answers
}

// A Button is a button below a message. A tap on it brings Data, 1 to 64 bytes:
// https://core.telegram.org/bots/api#inlinekeyboardbutton
type Button struct {
	Text string `json:"text"`
	Data string `json:"data"`
}
