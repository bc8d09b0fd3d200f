// What depends on the locale. Go registers Intl when it is first touched; it knows en-US alone, and takes
// any other locale for that. So what it does not know is refused here.

const inEnglish = (locales) => {
  const first = typeof locales === "string" ? locales : locales?.[0]; // the others count if the first is unknown
  if (first === undefined || /^(en(-us)?|default)$/i.test(first)) return;
  throw new RangeError(`the locale ${first} is not available in a tool: there is en-US only; write other forms by hand`);
};

// held refuses the options that would be ignored: all values of an option but one.
const held = (options, only) => {
  for (const [option, value] of Object.entries(only)) {
    const asked = options?.[option];
    if (asked !== undefined && asked !== value) throw new RangeError(`the option ${option}: ${stringify(asked)} is not available in a tool, only ${stringify(value)}`);
  }
};
const formats = (locales, options) => {
  inEnglish(locales);
  held(options, { calendar: "gregory", numberingSystem: "latn", roundingIncrement: 1, roundingPriority: "auto" });
  if (options?.currencyDisplay === "name") throw new RangeError('the option currencyDisplay: "name" is not available in a tool; there are symbol, narrowSymbol and code');
};

// collation returns how Go is to compare texts.
const collation = (locales, options) => {
  inEnglish(locales);
  held(options, { usage: "sort", ignorePunctuation: false, caseFirst: "false", collation: "default" });
  const sensitivity = options?.sensitivity ?? "variant";
  if (!["base", "accent", "variant"].includes(sensitivity)) throw new RangeError(`the option sensitivity: ${stringify(sensitivity)} is not available in a tool; there are base, accent and variant`);
  return sensitivity + (options?.numeric ? " numeric" : "");
};
const compare = (a, b, how) => (a === b ? 0 : host("compare", a, b, how));

class Collator {
  #how;
  #options;
  compare;
  constructor(locales, options) {
    this.#how = collation(locales, options);
    this.#options = options;
    Object.defineProperty(this, "compare", { value: (a, b) => compare(String(a), String(b), this.#how) });
  }
  resolvedOptions() {
    const { sensitivity = "variant", numeric = false } = this.#options ?? {};
    return { locale: "en-US", usage: "sort", sensitivity, ignorePunctuation: false, collation: "default", numeric, caseFirst: "false" };
  }
  static supportedLocalesOf(locales) {
    return touch().NumberFormat.supportedLocalesOf(locales);
  }
}

const method = (object, name, value) => Object.defineProperty(object, name, { value, writable: true, configurable: true });

// guarded is a constructor of formats that refuses what would be ignored.
const guarded = (real) => {
  const guard = new Proxy(real, {
    apply: (_, self, args) => (formats(...args), Reflect.apply(real, self, args)),
    construct: (_, args, target) => (formats(...args), Reflect.construct(real, args, target === guard ? real : target)),
  });
  method(real.prototype, "constructor", guard);
  return guard;
};

const localized = [];
for (const [{ prototype }, ...names] of [[Date, "toLocaleString", "toLocaleDateString", "toLocaleTimeString"], [Number, "toLocaleString"], [BigInt, "toLocaleString"]])
  for (const name of names) {
    const entry = { prototype, name, real: undefined };
    entry.own = {
      [name](locales, options) {
        formats(locales, options);
        touch();
        return entry.real.call(this, locales, options);
      },
    }[name];
    method(prototype, name, entry.own);
    localized.push(entry);
  }

let intl; // once touched
const touch = () => {
  if (intl) return intl;
  const global = Object.getOwnPropertyDescriptor(globalThis, "Intl"); // which a tool may have replaced, like the methods
  const present = localized.map(({ prototype, name }) => prototype[name]);
  delete globalThis.Intl;
  try {
    host("intl");
  } catch (error) {
    if (global) Object.defineProperty(globalThis, "Intl", global);
    throw error;
  }
  intl = globalThis.Intl;
  localized.forEach((entry, i) => {
    entry.real = entry.prototype[entry.name];
    method(entry.prototype, entry.name, present[i]);
  });
  method(intl, "DateTimeFormat", guarded(intl.DateTimeFormat));
  method(intl, "NumberFormat", guarded(intl.NumberFormat));
  method(intl, "Collator", Collator);
  if (global && "value" in global) define({ Intl: global.value });
  return intl;
};
Object.defineProperty(globalThis, "Intl", { get: touch, set: (Intl) => define({ Intl }), configurable: true });

method(String.prototype, "localeCompare", function localeCompare(that, locales, options) {
  return compare(String(this), String(that), collation(locales, options));
});

// Letters change their case in other ways in these languages.
for (const name of ["toLocaleUpperCase", "toLocaleLowerCase"]) {
  const real = String.prototype[name];
  const own = {
    [name](locales) {
      if (/^(tr|az|lt|el)\b/i.test(typeof locales === "string" ? locales : (locales?.[0] ?? ""))) inEnglish(locales);
      return real.call(this);
    },
  };
  method(String.prototype, name, own[name]);
}

for (const { prototype } of [Array, Object.getPrototypeOf(Uint8Array)])
  method(prototype, "toLocaleString", function toLocaleString(locales, options) {
    return Array.from(this, (item) => (item == null ? "" : item.toLocaleString(locales, options))).join(",");
  });
