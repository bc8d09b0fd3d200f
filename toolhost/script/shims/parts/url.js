// Addresses.
const { define, host, parse, stringify } = shared;

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

shared.URLSearchParams = URLSearchParams;
define({ URL, URLSearchParams });
