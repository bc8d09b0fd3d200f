// Copies.
const { define, named } = shared;

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
