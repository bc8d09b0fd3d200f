package script

import (
	"encoding/json"
	"testing"

	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
)

const reverse = `import type { DynamicTool } from '../../shared/types.js';

export const tool: DynamicTool = {
  name: 'reverse_string',
  description: 'Reverse a string',
  schema: {
    type: 'object',
    properties: {
      text: {
        type: 'string',
        description: 'Text to reverse'
      }
    },
    required: ['text']
  },
  async handler(args: Record<string, unknown>) {
    const text = args.text as string;
    return { reversed: text.split('').reverse().join('') };
  },
};
`

func TestReverse(t *testing.T) {
	t.Parallel()
	s, err := Compile(t.Context(), "reverse_string.ts", []byte(reverse))
	check.OK(t, err)
	defer s.Close()
	r, err := s.Tool(nil, nil).Handle(t.Context(), tools.Call{Args: json.RawMessage(`{"text":"abc"}`)})
	check.OK(t, err)
	if got, want := string(r.Structured), `{"reversed":"cba"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
