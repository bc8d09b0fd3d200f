package botapi

import "encoding/json"

const (
	maxCallbackData = 64  // bytes: core.telegram.org/bots/api#inlinekeyboardbutton
	maxButtons      = 100 // seen, not documented
	maxRow          = 8   // seen, not documented: longer rows are cut by clients
)

// keyboard is an inline keyboard as it was sent.
type keyboard struct {
	Inline [][]Button `json:"inline_keyboard"`
}

// A Button is one of an inline keyboard.
type Button struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// buttons returns what a user can press.
func (k *keyboard) buttons() [][]Button {
	if k == nil {
		return nil
	}
	return k.Inline
}

// markup reads reply_markup; nil is none. Other keyboards than inline ones are accepted
// and not shown.
func (r *request) markup() *keyboard {
	var fields map[string]json.RawMessage
	r.decode("reply_markup", &fields)
	inline, ok := fields["inline_keyboard"]
	if !ok {
		return nil
	}
	k := &keyboard{}
	if err := json.Unmarshal(inline, &k.Inline); err != nil {
		panic(bad("field \"inline_keyboard\" of the InlineKeyboardMarkup must be an Array of Arrays"))
	}
	total := 0
	for _, row := range k.Inline {
		if len(row) == 0 {
			r.violate("an empty row of buttons; Telegram drops it")
		}
		if total += len(row); len(row) > maxRow || total > maxButtons {
			panic(bad("reply markup is too long"))
		}
		for _, b := range row {
			b.check()
		}
	}
	if len(k.Inline) == 0 {
		return nil
	}
	return k
}

func (b Button) check() {
	switch {
	case b.Text == "":
		panic(bad("inline keyboard button text must be non-empty"))
	case b.Data == "":
		panic(bad("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"))
	case len(b.Data) > maxCallbackData:
		panic(bad("BUTTON_DATA_INVALID"))
	}
}
