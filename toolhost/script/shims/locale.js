// The methods that depend on the locale, as far as the language has them; those of parts/intl.js do the work.

const typedArrays = Object.getPrototypeOf(Uint8Array.prototype);
const localeMethods = [
  [Date.prototype, "toLocaleString"],
  [Date.prototype, "toLocaleDateString"],
  [Date.prototype, "toLocaleTimeString"],
  [Number.prototype, "toLocaleString"],
  [BigInt.prototype, "toLocaleString"],
  [String.prototype, "localeCompare"],
  [String.prototype, "toLocaleUpperCase"],
  [String.prototype, "toLocaleLowerCase"],
  [Array.prototype, "toLocaleString"],
  [typedArrays, "toLocaleString"],
];
Object.assign(shared, { localeMethods, typedArrays });
localeMethods.forEach(([object, name], i) => {
  const stub = {
    [name](...args) {
      load("intl");
      return shared.localized[i].apply(this, args);
    },
  };
  method(object, name, stub[name]);
});
