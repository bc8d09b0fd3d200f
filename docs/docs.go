// Package docs holds the documents that the gateway serves.
package docs

import (
	_ "embed" // openapi.yaml
)

//go:embed openapi.yaml
var openAPI string

// OpenAPI returns the description of the HTTP API, in YAML.
func OpenAPI() []byte { return []byte(openAPI) }
