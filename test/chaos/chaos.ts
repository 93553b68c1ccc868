import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../core/index.ts";
import { ProcessPool } from "./chaos-process.ts";
import { Dice } from "./dice.ts";
import { pointNames, pointOf, type PointName } from "./fault-points.ts";
import { Round, type RoundResult } from "./round.ts";

/** Rounds that share a database: so a round begins with what others left, stored checkpoints among it. */
const roundsPerFile = 6;

export interface ChaosOptions {
  readonly rounds: number;
  /** Equal seeds make equal rounds, as far as processes side by side can be equal. */
  readonly seed: string;
  /** Told behind each round. */
  readonly onRound?: ((round: number) => void) | undefined;
}

export interface ChaosResult {
  readonly rounds: number;
  readonly kills: number;
  /** Posts that were answered `accepted`. */
  readonly messages: number;
  /** What was found, in words that name the round. */
  readonly faults: readonly string[];
  /** Points at which no process died. */
  readonly unreached: readonly PointName[];
}

/** Plays the rounds, in a folder of its own that is removed behind a run that found nothing. */
export async function chaos({ rounds, seed, onRound }: ChaosOptions): Promise<ChaosResult> {
  const folder = mkdtempSync(join(tmpdir(), "roomtap-chaos-"));
  const pool = new ProcessPool(2);
  const deck = new Deck(new Dice(`${seed} deck`));
  const reached = new Set<PointName>();
  const faults: string[] = [];
  let kills = 0;
  let messages = 0;
  let file = "";
  try {
    for (let round = 1, inFile = 0; round <= rounds; round++, inFile = (inFile + 1) % roundsPerFile) {
      const isNewFile = inFile === 0;
      if (isNewFile) file = join(folder, `${round}.db`);
      const name = `${seed}.${round}`;
      const parts = { name, dice: new Dice(name), pool, file, draw: deck.drawing(isNewFile) };
      const result = await new Round(parts).play().catch(brokenOff);
      kills += result.kills;
      messages += result.messages;
      for (const point of result.reached) reached.add(point);
      faults.push(...result.faults.map((fault) => `round ${round}: ${fault} (${file})`));
      // What is wrong in a file stays wrong in it.
      if (result.faults.length > 0) inFile = -1;
      onRound?.(round);
    }
  } finally {
    await pool.close();
    if (faults.length === 0) rmSync(folder, { recursive: true, force: true });
  }
  return { rounds, kills, messages, faults, unreached: pointNames.filter((name) => !reached.has(name)) };
}

function brokenOff(fault: unknown): RoundResult {
  return { kills: 0, messages: 0, reached: [], faults: [`it broke off: ${messageOf(fault)}`] };
}

/** Every point, in an order that the seed decides; all of them before any comes again. */
class Deck {
  readonly #dice: Dice;
  readonly #cards: { readonly anyFile: PointName[]; readonly newFile: PointName[] } = { anyFile: [], newFile: [] };

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  /** What a round draws from: with a new file, its first card is one of a migration. */
  drawing(isNewFile: boolean): () => PointName {
    let isFirst = isNewFile;
    return () => {
      const pile = isFirst ? "newFile" : "anyFile";
      isFirst = false;
      return this.#draw(pile);
    };
  }

  #draw(pile: "anyFile" | "newFile"): PointName {
    const cards = this.#cards[pile];
    if (cards.length === 0) {
      const isWanted = (name: PointName): boolean => (pointOf(name).needs === "new_file") === (pile === "newFile");
      cards.push(...this.#dice.shuffled(pointNames.filter(isWanted)));
    }
    const card = cards.pop();
    if (card === undefined) throw new RangeError(`no points in ${pile}`);
    return card;
  }
}
