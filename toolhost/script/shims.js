// This file gives a machine what tools expect of their surroundings. It is an expression: a
// function that Go calls once, and that returns the function by which Go enters the machine.
// Whatever needs the world outside goes through host(operation, ...), which tools cannot reach.
// Bytes cross between Go and the machine as strings with one character for each.
//
// Go joins all lines to one: a frame of a stack in line 1 is one of this file.
(permissions, maxOutput) => {
  const host = globalThis.__host;
  delete globalThis.__host;
  delete globalThis.eval;
  delete globalThis.Function;
  const { parse, stringify } = JSON;

  // define adds globals as the language has its own: not enumerable.
  const define = (globals) => {
    for (const [name, value] of Object.entries(globals))
      Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  };

  // Bytes and texts.

  const unpack = (packed) => {
    const bytes = new Uint8Array(packed.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = packed.charCodeAt(i);
    return bytes;
  };
  const pack = (bytes) => {
    let packed = "";
    for (let i = 0; i < bytes.length; i += 4096) packed += String.fromCharCode(...bytes.subarray(i, i + 4096));
    return packed;
  };
  const encode = (text, encoding = "utf8") => unpack(host("encode", String(encoding), String(text)));
  const decode = (bytes, encoding = "utf8") => host("decode", String(encoding), pack(bytes));

  // view returns the bytes of a buffer, a view of one, or a text.
  const view = (data) => {
    if (data instanceof ArrayBuffer) return new Uint8Array(data);
    if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    return encode(data);
  };

  class TextEncoder {
    encoding = "utf-8";
    encode(text = "") {
      return encode(text);
    }
  }

  class TextDecoder {
    encoding = "utf-8";
    #encoding;
    constructor(label = "utf-8", { fatal = false } = {}) {
      if (!/^utf-?8$/i.test(label)) throw new RangeError(`TextDecoder: the encoding ${label} is not available; use utf-8`);
      this.#encoding = fatal ? "utf8-fatal" : "utf8";
    }
    decode(data = new Uint8Array()) {
      const text = decode(view(data), this.#encoding);
      return text[0] === "\ufeff" ? text.slice(1) : text;
    }
  }

  class Buffer extends Uint8Array {
    static from(data, encoding) {
      if (typeof data === "string") data = encode(data, encoding).buffer;
      return data instanceof ArrayBuffer ? new Buffer(data) : super.from(data);
    }
    static alloc(size) {
      return new Buffer(size);
    }
    static concat(list) {
      const all = new Buffer(list.reduce((n, b) => n + b.length, 0));
      let at = 0;
      for (const b of list) {
        all.set(b, at);
        at += b.length;
      }
      return all;
    }
    static isBuffer(data) {
      return data instanceof Buffer;
    }
    static byteLength(data, encoding) {
      return typeof data === "string" ? encode(data, encoding).length : data.byteLength;
    }
    toString(encoding, start = 0, end = this.length) {
      return decode(this.subarray(start, end), encoding);
    }
    equals(other) {
      return this.length === other.length && this.every((b, i) => b === other[i]);
    }
    toJSON() {
      return { type: "Buffer", data: [...this] };
    }
  }

  const atob = (text) => host("encode", "base64", String(text));
  const btoa = (packed) => {
    packed = String(packed);
    if (/[^\0-\xff]/.test(packed)) throw new RangeError("btoa: the text has characters beyond U+00FF; use Buffer or TextEncoder");
    return host("decode", "base64", packed);
  };

  define({ TextEncoder, TextDecoder, Buffer, atob, btoa });

  // Timers and operations that Go ends later, by id.

  const waiting = new Map();
  let lastId = 0;

  // later begins an operation and returns the promise of its results, a list.
  const later = (operation, signal, ...args) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const id = ++lastId;
      host(operation, id, ...args);
      waiting.set(id, { resolve, reject });
      signal?.addEventListener("abort", () => {
        if (waiting.delete(id)) host("cancel", id);
        reject(signal.reason);
      });
    });

  const timer = (repeats) => (callback, ms, ...args) => {
    if (typeof callback !== "function") throw new TypeError("the callback of a timer must be a function");
    const id = ++lastId;
    const start = () => {
      host("timer", id, Math.max(repeats ? 1 : 0, Number(ms) || 0));
      waiting.set(id, { resolve: fire });
    };
    const fire = () => {
      if (repeats) start();
      callback(...args);
    };
    start();
    return id;
  };
  const clear = (id) => {
    if (waiting.delete(id)) host("cancel", id);
  };
  const setTimeout = timer(false);

  define({
    setTimeout,
    clearTimeout: clear,
    setInterval: timer(true),
    clearInterval: clear,
    queueMicrotask: (callback) => void Promise.resolve().then(callback).catch(fail),
    performance: { now: () => host("now") },
  });

  let abort; // ends a signal
  class AbortSignal {
    aborted = false;
    reason = undefined;
    onabort = null;
    #listeners = [];
    static abort(reason) {
      const controller = new AbortController();
      controller.abort(reason);
      return controller.signal;
    }
    static timeout(ms) {
      const controller = new AbortController();
      setTimeout(() => controller.abort(named("TimeoutError", `no end within ${ms} ms`)), ms);
      return controller.signal;
    }
    addEventListener(type, listener) {
      if (type === "abort") this.#listeners.push(listener);
    }
    removeEventListener(type, listener) {
      this.#listeners = this.#listeners.filter((l) => l !== listener);
    }
    throwIfAborted() {
      if (this.aborted) throw this.reason;
    }
    static {
      abort = (signal, reason) => {
        if (signal.aborted) return;
        signal.aborted = true;
        signal.reason = reason;
        for (const listener of [signal.onabort, ...signal.#listeners]) listener?.call(signal, { type: "abort", target: signal });
      };
    }
  }

  class AbortController {
    signal = new AbortSignal();
    abort(reason = named("AbortError", "the operation was aborted")) {
      abort(this.signal, reason);
    }
  }

  const named = (name, message) => Object.assign(new Error(message), { name });

  define({ AbortSignal, AbortController });

  // The console.

  const show = (value) => {
    try {
      if (typeof value === "string" || typeof value === "bigint") return String(value);
      if (value instanceof Error) return `${value.name}: ${value.message}\n${value.stack ?? ""}`.trimEnd();
      return stringify(value) ?? String(value);
    } catch {
      return `a value of type ${typeof value} that cannot be shown`;
    }
  };
  const log = (...values) => host("log", values.map(show).join(" ").slice(0, 10000));
  define({ console: { log, info: log, warn: log, error: log, debug: log, trace: log } });

  // Addresses.

  class URL {
    #url; // the members that come from Go
    #params;
    constructor(url, base) {
      this.#url = parse(host("url", String(url), base === undefined ? "" : String(base)));
      this.#params = new URLSearchParams(this.#url.search, (search) => this.#set("search", search));
    }
    static canParse(url, base) {
      try {
        return Boolean(new URL(url, base));
      } catch {
        return false;
      }
    }
    #set(part, value) {
      this.#url = parse(host("setURL", this.#url.href, part, String(value)));
    }
    static {
      for (const part of ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"])
        Object.defineProperty(this.prototype, part, {
          get() {
            return this.#url[part];
          },
          set(value) {
            if (part === "href") this.#url = parse(host("url", String(value), ""));
            else if (part !== "origin") this.#set(part, value);
            refill(this.#params, this.#url.search);
          },
          enumerable: true,
          configurable: true,
        });
    }
    get searchParams() {
      return this.#params;
    }
    toString() {
      return this.href;
    }
    toJSON() {
      return this.href;
    }
  }

  let refill; // replaces all parameters
  class URLSearchParams {
    #pairs = [];
    #changed;
    constructor(init = "", changed) {
      this.#changed = changed;
      if (typeof init === "string") refill(this, init);
      else for (const [name, value] of init?.[Symbol.iterator] ? init : Object.entries(init)) this.#pairs.push([String(name), String(value)]);
    }
    static {
      refill = (params, search) => {
        params.#pairs = parse(host("parseQuery", search));
      };
    }
    #update(pairs) {
      this.#pairs = pairs;
      this.#changed?.(this.toString());
    }
    get size() {
      return this.#pairs.length;
    }
    get(name) {
      return this.#pairs.find(([n]) => n === String(name))?.[1] ?? null;
    }
    getAll(name) {
      return this.#pairs.filter(([n]) => n === String(name)).map(([, value]) => value);
    }
    has(name) {
      return this.get(name) !== null;
    }
    append(name, value) {
      this.#update([...this.#pairs, [String(name), String(value)]]);
    }
    set(name, value) {
      let found = false;
      const pairs = this.#pairs.filter(([n]) => n !== String(name) || (!found && (found = true)));
      const pair = found ? pairs.find(([n]) => n === String(name)) : (pairs.push([String(name), ""]), pairs.at(-1));
      pair[1] = String(value);
      this.#update(pairs);
    }
    delete(name) {
      this.#update(this.#pairs.filter(([n]) => n !== String(name)));
    }
    sort() {
      this.#update(this.#pairs.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
    }
    forEach(callback) {
      for (const [name, value] of this) callback(value, name, this);
    }
    keys() {
      return this.#pairs.map(([name]) => name).values();
    }
    values() {
      return this.#pairs.map(([, value]) => value).values();
    }
    entries() {
      return this.#pairs.map((pair) => [...pair]).values();
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    toString() {
      return host("formatQuery", stringify(this.#pairs));
    }
  }

  define({ URL, URLSearchParams });

  // Copies.

  const structuredClone = (value, seen = new Map()) => {
    if (typeof value === "function" || typeof value === "symbol") throw named("DataCloneError", `a ${typeof value} cannot be cloned`);
    if (typeof value !== "object" || value === null) return value;
    if (seen.has(value)) return seen.get(value);
    const keep = (copy) => (seen.set(value, copy), copy);
    const clone = (v) => structuredClone(v, seen);
    if (value instanceof Date) return keep(new Date(value.getTime()));
    if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
    if (value instanceof ArrayBuffer) return keep(value.slice(0));
    if (value instanceof DataView) return keep(new DataView(clone(value.buffer), value.byteOffset, value.byteLength));
    if (ArrayBuffer.isView(value)) return keep(new value.constructor(clone(value.buffer), value.byteOffset, value.length));
    if (value instanceof Map) {
      const copy = keep(new Map());
      for (const [k, v] of value) copy.set(clone(k), clone(v));
      return copy;
    }
    if (value instanceof Set) {
      const copy = keep(new Set());
      for (const v of value) copy.add(clone(v));
      return copy;
    }
    let copy = {};
    if (Array.isArray(value)) copy = new Array(value.length);
    if (value instanceof Error) copy = named(value.name, value.message);
    keep(copy);
    for (const key of Object.keys(value)) copy[key] = clone(value[key]);
    return copy;
  };
  define({ structuredClone: (value) => structuredClone(value) });

  // Random numbers and hashes.

  define({
    crypto: {
      randomUUID: () => host("uuid"),
      getRandomValues(array) {
        const bytes = view(array);
        bytes.set(unpack(host("random", bytes.length)));
        return array;
      },
      subtle: {
        async digest(algorithm, data) {
          return unpack(host("digest", String(algorithm?.name ?? algorithm).toUpperCase(), pack(view(data)))).buffer;
        },
      },
    },
  });

  // What permissions give.

  if (permissions.includes("network")) {
    class Headers {
      #values = new Map();
      constructor(init = {}) {
        for (const [name, value] of init[Symbol.iterator] ? init : Object.entries(init)) this.append(name, value);
      }
      get(name) {
        return this.#values.get(String(name).toLowerCase()) ?? null;
      }
      has(name) {
        return this.get(name) !== null;
      }
      set(name, value) {
        this.#values.set(String(name).toLowerCase(), String(value));
      }
      append(name, value) {
        this.set(name, this.has(name) ? `${this.get(name)}, ${value}` : value);
      }
      delete(name) {
        this.#values.delete(String(name).toLowerCase());
      }
      forEach(callback) {
        for (const [name, value] of this) callback(value, name, this);
      }
      entries() {
        return this.#values.entries();
      }
      [Symbol.iterator]() {
        return this.entries();
      }
    }

    class Response {
      #body;
      constructor({ url, status, headers }, body) {
        this.#body = body;
        Object.assign(this, { url, status, ok: status >= 200 && status < 300, headers: new Headers(headers) });
      }
      async text() {
        return host("decode", "utf8", this.#body);
      }
      async json() {
        return parse(await this.text());
      }
      async bytes() {
        return unpack(this.#body);
      }
      async arrayBuffer() {
        return unpack(this.#body).buffer;
      }
    }

    const fetch = async (url, { method = "GET", headers, body, signal } = {}) => {
      headers = new Headers(headers);
      if (body instanceof URLSearchParams && !headers.has("content-type")) headers.set("content-type", "application/x-www-form-urlencoded;charset=UTF-8");
      const request = { url: String(url), method: String(method).toUpperCase(), headers: Object.fromEntries(headers) };
      const [head, received] = await later("fetch", signal, stringify(request), body == null ? "" : pack(view(body)));
      return new Response(parse(head), received);
    };
    define({ fetch, Headers });
  }

  if (permissions.includes("filesystem")) {
    define({
      fs: {
        async readFile(path, encoding) {
          const [data] = await later("readFile", undefined, String(path));
          const bytes = Buffer.from(unpack(data));
          encoding = encoding?.encoding ?? encoding;
          return encoding ? bytes.toString(encoding) : bytes;
        },
        async writeFile(path, data) {
          await later("writeFile", undefined, String(path), pack(view(data)));
        },
        async list(path = ".") {
          const [names] = await later("listFiles", undefined, String(path));
          return parse(names);
        },
      },
    });
  }

  // The tool.

  let tool;

  // fail tells Go what was thrown: any value, also an object that throws when it is looked at.
  const fail = (thrown) => {
    let message, stack;
    try {
      if (thrown instanceof Error) {
        message = String(thrown.message).slice(0, 10000);
        stack = `${thrown.name}: ${message}\n${thrown.stack}`.slice(0, 20000);
      } else {
        message = typeof thrown === "string" ? thrown : "a value that is no Error was thrown: " + show(thrown);
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
}
