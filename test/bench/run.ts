/** `npm run bench -- NAME [--json]`: runs `NAME.bench.ts`, prints rows and gates, exits 1 when a gate is missed. */
import { readdirSync } from "node:fs";
import type { BenchResult } from "./measure.ts";

const suffix = ".bench.ts";

function format(result: BenchResult): string {
  const table = result.rows.map((row) =>
    Object.entries(row)
      .map(([column, value]) => `${column} ${value}`)
      .join("  "),
  );
  const gates = result.gates.map(
    (gate) => `${gate.ok ? "ok    " : "missed"} ${gate.name}: ${gate.value} (limit ${gate.limit})`,
  );
  return [...table, ...gates].join("\n");
}

async function main(words: readonly string[]): Promise<number> {
  const names = readdirSync(new URL(".", import.meta.url))
    .filter((file) => file.endsWith(suffix))
    .map((file) => file.slice(0, -suffix.length));
  const asked = words.filter((word) => word !== "--json");
  const [name] = asked;
  if (name === undefined || asked.length > 1 || !names.includes(name)) {
    process.stderr.write(`expected the name of one bench: ${names.join(", ")}; got: ${asked.join(" ") || "none"}\n`);
    return 2;
  }
  const bench = (await import(`./${name}${suffix}`)) as { run(): Promise<BenchResult> };
  const result = await bench.run();
  const whole = { bench: name, node: process.version, rows: result.rows, gates: result.gates };
  process.stdout.write(`${words.includes("--json") ? JSON.stringify(whole) : format(result)}\n`);
  return result.gates.every((gate) => gate.ok) ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
