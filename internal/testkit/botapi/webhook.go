package botapi

import "strings"

// A webhook is only remembered: nothing is ever sent there.
type webhook struct{ url string }

// setWebhook: core.telegram.org/bots/api#setwebhook
func (r *request) setWebhook() (any, error) {
	url := r.text("url")
	if url != "" && !strings.HasPrefix(url, "https://") {
		return nil, bad("bad webhook: An HTTPS URL must be provided for webhook")
	}
	if err := r.allowUpdates(); err != nil {
		return nil, err
	}
	if url != "" {
		r.s.updates.endPoll(conflict("terminated by setWebhook request"))
	}
	r.s.webhook.url = url
	r.dropPending()
	return true, nil
}

// deleteWebhook: core.telegram.org/bots/api#deletewebhook
func (r *request) deleteWebhook() (any, error) {
	r.s.webhook.url = ""
	r.dropPending()
	return true, nil
}

func (r *request) dropPending() {
	if r.boolean("drop_pending_updates") {
		r.s.updates.waiting = nil
	}
}

// getWebhookInfo: core.telegram.org/bots/api#getwebhookinfo
func (r *request) getWebhookInfo() (any, error) {
	o := object{"url": r.s.webhook.url, "has_custom_certificate": false, "pending_update_count": len(r.s.updates.waiting)}
	if r.s.updates.allowed != nil {
		o["allowed_updates"] = r.s.updates.allowed
	}
	return o, nil
}
