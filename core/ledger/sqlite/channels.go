package sqlite

import (
	"context"

	"bareclaw/core"
)

var (
	stmtModel = newStatement("set the model of",
		`INSERT INTO settings(channel, model) VALUES(?,?) ON CONFLICT(channel) DO UPDATE SET model=excluded.model`)
	stmtMode = newStatement("set the permission mode of", `INSERT INTO settings(channel, permission_mode) VALUES(?,?)
		ON CONFLICT(channel) DO UPDATE SET permission_mode=excluded.permission_mode`)
	stmtTools = newStatement("set the tools of",
		`INSERT INTO settings(channel, tools) VALUES(?,?) ON CONFLICT(channel) DO UPDATE SET tools=excluded.tools`)
	stmtAddRule    = newStatement("store rule", `INSERT INTO rules(id, channel, rule, doc) VALUES(?,?,?,?) ON CONFLICT(channel, rule) DO NOTHING`)
	stmtRemoveRule = newStatement("remove rule", `DELETE FROM rules WHERE id=? AND channel=?`)
)

type ruleDoc struct {
	Tool      string `json:"tool"`
	CreatedAt int64  `json:"created_at"`
	By        string `json:"by,omitempty"`
}

func changeSettings(k *compiler, c *core.Change) {
	for i := range c.Settings {
		changeChannel(k, &c.Settings[i])
	}
}

func changeChannel(k *compiler, c *core.SettingsChange) {
	channel := string(c.Channel)
	if c.Model != nil {
		k.add(stmtModel, channel, channel, *c.Model)
	}
	if c.PermissionMode != nil {
		k.add(stmtMode, channel, channel, *c.PermissionMode)
	}
	if c.Tools != nil {
		k.add(stmtTools, channel, channel, *c.Tools)
	}
	for _, id := range c.Remove {
		k.add(stmtRemoveRule, id, id, channel)
	}
	for _, r := range c.Add {
		k.add(stmtAddRule, r.ID, r.ID, channel, r.Rule, k.doc(ruleDoc{Tool: r.Tool, CreatedAt: nanos(r.CreatedAt), By: r.By}))
	}
}

// channels reads the records of channels and implements [core.ChannelReader].
type channels struct{ reader *reader }

// Channels implements [core.ChannelReader] and sorts by the newest message first. The
// query counts messages and takes time in proportion to their number.
func (l channels) Channels(ctx context.Context) ([]core.ChannelRecord, error) {
	return readAll(ctx, l.reader, "channels", func(scan scanFunc) (c core.ChannelRecord, err error) {
		err = scan(&c.Key, &c.Messages, at(&c.LastAt))
		return c, err
	}, `SELECT g.channel, g.messages, m.received_at
		FROM (SELECT channel, count(*) AS messages, max(seq) AS last FROM messages GROUP BY channel) g
		JOIN messages m ON m.seq=g.last ORDER BY g.last DESC`)
}

// Settings implements [core.ChannelReader].
func (l channels) Settings(ctx context.Context) (map[core.ChannelKey]core.Settings, error) {
	all := map[core.ChannelKey]core.Settings{}
	_, err := readAll(ctx, l.reader, "the settings of channels", func(scan scanFunc) (_ struct{}, err error) {
		var key core.ChannelKey
		var s core.Settings
		var model, mode *string
		err = scan(&key, &model, &mode, &s.Tools)
		if model != nil {
			s.Model = *model
			s.HadModel = *model == ""
		}
		if mode != nil {
			s.PermissionMode = *mode
			s.HadPermissionMode = *mode == ""
		}
		all[key] = s
		return struct{}{}, err
	}, `SELECT channel, model, permission_mode, tools FROM settings`)
	if err != nil {
		return nil, err
	}
	rules, err := readAll(ctx, l.reader, "the rules of channels", scanRule, selectRules)
	for _, r := range rules {
		s := all[r.Channel]
		s.Rules = append(s.Rules, r)
		all[r.Channel] = s
	}
	return all, err
}

const selectRules = `SELECT id, channel, rule, doc FROM rules ORDER BY seq`

func scanRule(scan scanFunc) (r core.Rule, err error) {
	var d ruleDoc
	err = scan(&r.ID, &r.Channel, &r.Rule, storedDoc{&d})
	r.Tool = d.Tool
	r.CreatedAt = fromNanos(d.CreatedAt)
	r.By = d.By
	return r, err
}
