package ledger

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"

	"bareclaw/core"
)

type ruleDoc struct {
	Tool      string `json:"tool"`
	CreatedAt int64  `json:"created_at"`
	By        string `json:"by,omitempty"`
}

func (k *compiler) settings(c *core.SettingsChange) {
	channel := string(c.Channel)
	if c.Model != nil {
		k.add(op{stmt: opModel, id: channel, args: []driver.Value{channel, *c.Model}}, len(*c.Model))
	}
	if c.PermissionMode != nil {
		k.add(op{stmt: opMode, id: channel, args: []driver.Value{channel, *c.PermissionMode}}, len(*c.PermissionMode))
	}
	for _, id := range c.Remove {
		k.add(op{stmt: opRemoveRule, id: id, args: []driver.Value{id, channel}}, 0)
	}
	for i := range c.Add {
		r := &c.Add[i]
		doc := k.doc(ruleDoc{Tool: r.Tool, CreatedAt: nanos(r.CreatedAt), By: r.By})
		k.add(op{stmt: opAddRule, id: r.ID, args: []driver.Value{r.ID, channel, r.Rule, doc}}, len(r.Rule)+len(doc))
	}
}

// Settings implements [core.Ledger].
func (l *Ledger) Settings(ctx context.Context) (map[core.ChannelKey]core.Settings, error) {
	if err := l.settled(ctx); err != nil {
		return nil, err
	}
	type row struct {
		key core.ChannelKey
		core.Settings
	}
	rows, err := list(ctx, l.readers, func(scan func(...any) error) (r row, err error) {
		var model, mode *string
		err = scan(&r.key, &model, &mode)
		if model != nil {
			r.Model, r.HadModel = *model, *model == ""
		}
		if mode != nil {
			r.PermissionMode, r.HadPermissionMode = *mode, *mode == ""
		}
		return r, err
	}, `SELECT channel, model, permission_mode FROM settings`)
	if err != nil {
		return nil, l.reading(err, "the settings of channels")
	}
	all := map[core.ChannelKey]core.Settings{}
	for _, r := range rows {
		all[r.key] = r.Settings
	}
	rules, err := list(ctx, l.readers, scanRule, `SELECT id, channel, rule, doc FROM rules ORDER BY seq`)
	for _, r := range rules {
		s := all[r.Channel]
		s.Rules = append(s.Rules, r)
		all[r.Channel] = s
	}
	return all, l.reading(err, "the rules of channels")
}

func scanRule(scan func(...any) error) (core.Rule, error) {
	var r core.Rule
	var doc string
	if err := scan(&r.ID, &r.Channel, &r.Rule, &doc); err != nil {
		return r, err
	}
	var d ruleDoc
	if err := json.Unmarshal([]byte(doc), &d); err != nil {
		return r, fmt.Errorf("rule %s: %w", r.ID, err)
	}
	r.Tool, r.CreatedAt, r.By = d.Tool, fromNanos(d.CreatedAt), d.By
	return r, nil
}
