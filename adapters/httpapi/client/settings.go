package client

import (
	"bareclaw/adapters/httpapi/api"
	"bareclaw/core/config"
)

// Settings returns the settings of a configuration as the API shows them.
func Settings(cfg config.Config) []api.Setting {
	var all []api.Setting
	for _, v := range cfg.InForce() {
		all = append(all, api.Setting{Name: v.Name, Value: v.Text, Source: v.Source})
	}
	return all
}
