// The gateway loads this file when it is saved, and Claude can call the tool at once.
// To try it: bareclaw tools call my_tool '{"text": "hello"}'

export const tool = {
  // The name is unique: lowercase letters, digits and _, at most 50.
  name: 'my_tool',

  // The description is what Claude finds the tool by: say what it does, and when to use it.
  description: 'Reverse a text.',

  // The schema describes the arguments. Calls that do not fit are refused before the handler runs.
  schema: {
    type: 'object',
    properties: {
      text: { type: 'string', description: 'the text to reverse' },
    },
    required: ['text'],
    additionalProperties: false,
  },

  // A tool that changes nothing says so: then Claude may call it beside others.
  annotations: { readOnlyHint: true },

  // A tool computes, and reaches nothing else. With a permission it may also use fetch(url), or
  // fs.readFile, fs.writeFile and fs.list, as far as BARECLAW_TOOL_GRANTS grants hosts and directories.
  // permissions: ['network', 'filesystem'],

  // The handler returns an object, or a text. An error that it throws is told to Claude.
  // What console.log says is in the gateway's log: bareclaw logs
  async handler(args: { text: string }) {
    return { reversed: [...args.text].reverse().join('') };
  },
};
