// What depends on the locale. Go registers Intl when it is first touched; it knows en-US alone, and takes
// any other locale for that. So what it does not know is refused here.

const { define, host, method, stringify, localeMethods, typedArrays } = shared;

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
    return globalThis.Intl.NumberFormat.supportedLocalesOf(locales);
  }
}

// guarded is a constructor of formats that refuses what would be ignored.
const guarded = (real) => {
  const guard = new Proxy(real, {
    apply: (_, self, args) => (formats(...args), Reflect.apply(real, self, args)),
    construct: (_, args, target) => (formats(...args), Reflect.construct(real, args, target === guard ? real : target)),
  });
  method(real.prototype, "constructor", guard);
  return guard;
};

// Go registers Intl, and replaces methods of prototypes by those that know the locale. What stays there are the
// stubs of locale.js, or what the tool has put in their places.
const global = Object.getOwnPropertyDescriptor(globalThis, "Intl");
const present = localeMethods.map(([object, name]) => object[name]);
delete globalThis.Intl;
try {
  host("intl");
} catch (error) {
  if (global) Object.defineProperty(globalThis, "Intl", global);
  throw error;
}
const { Intl } = globalThis;
method(Intl, "DateTimeFormat", guarded(Intl.DateTimeFormat));
method(Intl, "NumberFormat", guarded(Intl.NumberFormat));
method(Intl, "Collator", Collator);
if (global && "value" in global) define({ Intl: global.value });

shared.localized = localeMethods.map(([object, name], i) => {
  const real = object[name];
  method(object, name, present[i]);
  switch (name) {
    case "localeCompare":
      return function (that, locales, options) {
        return compare(String(this), String(that), collation(locales, options));
      };
    case "toLocaleUpperCase":
    case "toLocaleLowerCase":
      return function (locales) {
        // These languages change the case of letters in other ways.
        if (/^(tr|az|lt|el)\b/i.test(typeof locales === "string" ? locales : (locales?.[0] ?? ""))) inEnglish(locales);
        return name === "toLocaleUpperCase" ? String(this).toUpperCase() : String(this).toLowerCase();
      };
  }
  if (object !== Array.prototype && object !== typedArrays)
    return function (locales, options) {
      formats(locales, options);
      return real.call(this, locales, options);
    };
  return function (locales, options) {
    return Array.from(this, (item) => (item == null ? "" : item.toLocaleString(locales, options))).join(",");
  };
});
