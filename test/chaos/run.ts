/**
 * `npm run chaos -- --rounds N --seed S`: hosts on one database, killed at every named point and by chance. The last
 * line says what was found; exits 1 when that is anything, 2 for wrong usage.
 */
import { parseArgs } from "node:util";
import { chaos } from "./chaos.ts";

function usage(message: string): number {
  process.stderr.write(`${message}\nusage: npm run chaos -- [--rounds N] [--seed S]\n`);
  return 2;
}

async function main(words: string[]): Promise<number> {
  let values: { rounds?: string | undefined; seed?: string | undefined };
  try {
    const options = { rounds: { type: "string" }, seed: { type: "string" } } as const;
    ({ values } = parseArgs({ args: words, options }));
  } catch (fault) {
    return usage(fault instanceof Error ? fault.message : String(fault));
  }
  const { rounds: given = "200", seed = "1" } = values;
  const rounds = Number(given);
  if (!Number.isSafeInteger(rounds) || rounds < 1)
    return usage(`--rounds: expected a whole number from 1, got ${given}`);
  // Ids of posts begin with it.
  if (!/^[A-Za-z0-9]{1,32}$/.test(seed)) return usage(`--seed: expected 1 to 32 letters and digits, got ${seed}`);
  const result = await chaos({
    rounds,
    seed,
    onRound: (round) => {
      if (round % 10 === 0) process.stderr.write(`${round} of ${rounds} rounds\n`);
    },
  });
  if (result.unreached.length > 0) process.stderr.write(`nobody died at: ${result.unreached.join(", ")}\n`);
  for (const fault of result.faults) process.stdout.write(`${fault}\n`);
  const { kills, messages, faults } = result;
  const found = faults.length === 0 ? "nothing found" : `${faults.length} found (seed ${seed})`;
  process.stdout.write(`${rounds} rounds, ${kills} kills, ${messages} messages: ${found}\n`);
  return faults.length === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
