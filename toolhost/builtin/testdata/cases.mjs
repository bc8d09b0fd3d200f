// Helpers of the scripts that write test cases.
import { writeFileSync } from "node:fs";

// exact is a number that JavaScript has not, such as an integer beyond 2^53.
export const exact = digits => `\u0001${digits}\u0001`;

const line = c => JSON.stringify(c).replace(/"\\u0001([^\\]*)\\u0001"/g, "$1");

// write writes the cases of a tool; each is [name, args, outcome], and the outcome has one of the
// members want, has and error.
export function write(tool, cases) {
	const rows = cases.map(([name, args, outcome]) => line({ name, args, ...outcome }));
	writeFileSync(new URL(`${tool}.json`, import.meta.url), `[\n${rows.join(",\n")}\n]\n`);
}
