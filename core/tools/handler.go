package tools

import (
	"context"
	"encoding/json"
	"fmt"

	"bareclaw/internal/plainjson"
)

// WithArgs returns a Handler that decodes the arguments.
func WithArgs[A any](do func(ctx context.Context, c Call, args A) (Result, error)) Handler {
	return func(ctx context.Context, c Call) (Result, error) {
		args, err := decodeArgs[A](c)
		if err != nil {
			return Result{}, err
		}
		return do(ctx, c, args)
	}
}

func decodeArgs[A any](c Call) (args A, err error) {
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return args, fmt.Errorf("read the arguments: %w", err)
	}
	return args, nil
}

// Object returns a result that is an object, such as a struct.
func Object(v any) (Result, error) {
	b, err := plainjson.Marshal(v)
	return Result{Structured: b}, err
}
