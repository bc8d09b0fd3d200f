package telegram

import "bareclaw/adapters/telegram/markdown"

// documentParts makes messages of a document: the first one answers a message, the
// last one has the buttons.
func documentParts(doc markdown.Document, buttons [][]Button, replyTo int) []part {
	pieces := doc.Split(0)
	parts := make([]part, 0, len(pieces))
	for i, piece := range pieces {
		p := &textPart{text: piece.Text, entities: piece.Entities}
		if i == 0 {
			p.replyTo = replyTo
		}
		if i == len(pieces)-1 {
			p.buttons = buttons
		}
		parts = append(parts, p)
	}
	return parts
}

// lastPart makes the one message of a document that is later changed, which is always
// one: how many parts there are must not change while they are sent.
func lastPart(doc markdown.Document, buttons [][]Button) part {
	p := &textPart{buttons: buttons}
	if pieces := doc.Split(0); len(pieces) > 0 {
		p.text, p.entities = pieces[0].Text, pieces[0].Entities
	}
	return p
}
