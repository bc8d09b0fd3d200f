// Requests.
const { define, host, parse, stringify, permissions, later, pack, unpack, view } = shared;

class Headers {
  #values = new Map(); // lists
  constructor(init = {}) {
    for (const [name, value] of init[Symbol.iterator] ? init : Object.entries(init)) this.append(name, value);
  }
  get(name) {
    return this.#values.get(String(name).toLowerCase())?.join(", ") ?? null;
  }
  getSetCookie() {
    return [...(this.#values.get("set-cookie") ?? [])];
  }
  has(name) {
    return this.get(name) !== null;
  }
  set(name, value) {
    this.#values.set(String(name).toLowerCase(), [String(value)]);
  }
  append(name, value) {
    if (this.has(name)) this.#values.get(String(name).toLowerCase()).push(String(value));
    else this.set(name, value);
  }
  delete(name) {
    this.#values.delete(String(name).toLowerCase());
  }
  forEach(callback) {
    for (const [name, value] of this) callback(value, name, this);
  }
  keys() {
    return [...this].map(([name]) => name).values();
  }
  values() {
    return [...this].map(([, value]) => value).values();
  }
  entries() {
    const pairs = [];
    for (const [name, values] of this.#values)
      for (const value of name === "set-cookie" ? values : [values.join(", ")]) pairs.push([name, value]);
    return pairs.values();
  }
  [Symbol.iterator]() {
    return this.entries();
  }
}
define({ Headers });

if (permissions.includes("network")) {
  class Response {
    #body;
    constructor({ url, status, statusText, redirected, headers }, body) {
      this.#body = body;
      Object.assign(this, { url, status, statusText, redirected, ok: status >= 200 && status < 300, headers: new Headers(headers) });
    }
    clone() {
      return new Response(this, this.#body);
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

  const fetch = async (url, { method = "GET", headers, body, signal, redirect = "follow" } = {}) => {
    if (!["follow", "manual", "error"].includes(redirect)) throw new TypeError(`redirect is follow, manual or error, not ${redirect}`);
    headers = new Headers(headers);
    if (shared.URLSearchParams && body instanceof shared.URLSearchParams && !headers.has("content-type")) headers.set("content-type", "application/x-www-form-urlencoded;charset=UTF-8");
    const request = { url: String(url), method: String(method).toUpperCase(), headers: Object.fromEntries(headers), redirect };
    const [head, received] = await later("fetch", signal, stringify(request), body == null ? "" : pack(view(body)));
    return new Response(parse(head), received);
  };
  define({ fetch });
}
