// The tool.

const show = (value) => {
  try {
    if (typeof value === "string" || typeof value === "bigint") return String(value);
    if (value instanceof Error) return `${value.name}: ${value.message}\n${value.stack ?? ""}`.trimEnd();
    return stringify(value) ?? String(value);
  } catch {
    return `a value of type ${typeof value} that cannot be shown`;
  }
};
shared.show = show;

let tool;

// fail tells Go what was thrown: any value, also an object that throws when it is looked at.
const fail = (thrown) => {
  let message, stack;
  try {
    if (thrown instanceof Error) {
      message = String(thrown.message).slice(0, 10000);
      stack = `${thrown.name}: ${message}\n${thrown.stack}`.slice(0, 20000);
    } else {
      message = typeof thrown === "string" ? thrown : "a value that is not an Error was thrown: " + show(thrown);
    }
  } catch {
    message = "a value that cannot be shown was thrown";
  }
  host("fail", message.slice(0, 10000), stack ?? "");
};

const give = (value) => {
  let kind = "text";
  if (typeof value === "bigint") value = String(value);
  if (typeof value !== "string") {
    value = stringify(value) ?? "";
    if (value[0] === "{") kind = "object";
  }
  if (value.length > maxOutput) host("large");
  else host(kind, value);
};

const entries = {
  // load runs the top level of the file and tells the declaration of the tool.
  load(run) {
    const module = { exports: {} };
    run(module, module.exports, (name) => {
      throw new Error(`${name} cannot be imported: a tool has no modules, only "import type"`);
    });
    tool = module.exports.tool;
    const kind = tool === null ? "null" : typeof tool;
    const declared = { exports: Object.keys(module.exports), kind };
    if (kind === "object") {
      const { name, description, schema, outputSchema, permissions, annotations, timeoutMs, handler } = tool;
      Object.assign(declared, { name, description, schema, outputSchema, permissions, annotations, timeoutMs, handler: typeof handler });
    }
    host("object", stringify(declared));
  },
  call(args) {
    (async () => give(await tool.handler(parse(args))))().catch(fail);
  },
  // settle ends what later or a timer began.
  settle(id, problem, ...values) {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (problem === null) resolve(values);
    else reject(new Error(problem));
  },
  // reset forgets the timers and operations that a call left behind.
  reset() {
    waiting.clear();
    queue.length = 0;
    running = 0;
  },
  // part gets the function of a part.
  part(run) {
    received = run;
  },
  // probe fails if there is hardly any memory.
  probe() {
    new ArrayBuffer(1 << 20);
  },
};
return (entry, ...args) => {
  try {
    entries[entry](...args);
  } catch (e) {
    fail(e);
  }
};
