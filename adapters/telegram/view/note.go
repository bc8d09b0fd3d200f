// Package view renders the texts of a chat and the buttons below. Package view has no
// state and no side effects.
package view

// A Note is a message of the gateway itself, for example the answer to a command, or the
// reason for a refusal.
type Note struct {
	Text    string     `json:"text"` // Markdown
	Buttons [][]Button `json:"buttons,omitempty"`
	ReplyTo int        `json:"reply_to,omitempty"` // message answered by the note
}

// A Button is a button below a message. A tap on the button sends Data, 1 to 64 bytes:
// https://core.telegram.org/bots/api#inlinekeyboardbutton
type Button struct {
	Text string `json:"text"`
	Data string `json:"data"`
}
