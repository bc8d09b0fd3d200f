package botapi

import (
	"encoding/json"
	"fmt"
)

const (
	maxCallbackData = 64  // bytes: core.telegram.org/bots/api#inlinekeyboardbutton
	maxButtons      = 100 // seen, not documented
	maxRow          = 8   // seen, not documented: longer rows are cut by clients
)

// keyboard is an inline keyboard as it was sent.
type keyboard struct {
	Inline [][]map[string]any `json:"inline_keyboard"`
}

// A Button is one of an inline keyboard.
type Button struct {
	Text string
	Data string // callback_data
}

// buttons returns what a user can press.
func (k *keyboard) buttons() [][]Button {
	if k == nil {
		return nil
	}
	var rows [][]Button
	for _, row := range k.Inline {
		var out []Button
		for _, b := range row {
			out = append(out, Button{Text: str(b["text"]), Data: str(b["callback_data"])})
		}
		rows = append(rows, out)
	}
	return rows
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

// markup reads reply_markup; nil is none. Other keyboards than inline ones are
// accepted and not shown.
func (r *request) markup() *keyboard {
	text := r.text("reply_markup")
	if text == "" {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		if json.Valid([]byte(text)) {
			panic(bad("object expected as reply markup"))
		}
		panic(bad("can't parse reply keyboard markup JSON object"))
	}
	inline, ok := fields["inline_keyboard"]
	if !ok {
		return nil
	}
	k := &keyboard{}
	if err := json.Unmarshal(inline, &k.Inline); err != nil {
		panic(bad("field \"inline_keyboard\" of the InlineKeyboardMarkup must be an Array of Arrays"))
	}
	r.checkKeyboard(k)
	return k
}

func (r *request) checkKeyboard(k *keyboard) {
	total := 0
	for _, row := range k.Inline {
		if len(row) > maxRow {
			panic(bad("reply markup is too long"))
		}
		if len(row) == 0 {
			r.violate("an empty row of buttons; Telegram drops it")
		}
		total += len(row)
		for _, b := range row {
			checkButton(b)
		}
	}
	if total > maxButtons {
		panic(bad("reply markup is too long"))
	}
}

func checkButton(b map[string]any) {
	if _, ok := b["text"].(string); !ok {
		panic(bad("can't parse inline keyboard button: Can't find field \"text\""))
	}
	if str(b["text"]) == "" {
		panic(bad("inline keyboard button text must be non-empty"))
	}
	switch data := str(b["callback_data"]); {
	case data == "":
		panic(bad("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"))
	case len(data) > maxCallbackData:
		panic(bad("BUTTON_DATA_INVALID"))
	}
}

// find returns the button with the text.
func (k *keyboard) find(text string) (Button, error) {
	var names []string
	for _, row := range k.buttons() {
		for _, b := range row {
			if b.Text == text {
				return b, nil
			}
			names = append(names, b.Text)
		}
	}
	return Button{}, fmt.Errorf("there is no button %q but %q", text, names)
}
